package zoo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func TestTheZooIsSortedAndComplete(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, f := range Faults() {
		ids = append(ids, f.ID)
		if f.Title == "" || len(f.Breaks) == 0 || f.Source == "" {
			t.Errorf("fault %+v is not described", f)
		}
	}
	if len(ids) < 26 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("%d faults, which must be sorted and have unique ids: %v", len(ids), ids)
	}
	ids = nil
	for _, v := range Variants() {
		ids = append(ids, v.ID)
		if v.Title == "" || v.Source == "" {
			t.Errorf("variant %+v is not described", v)
		}
	}
	if len(ids) < 11 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("%d variants, which must be sorted and have unique ids: %v", len(ids), ids)
	}
}

func TestUnknownIDsAreRefusedWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o             Options
		id, known, in string
	}{
		{Options{Faults: []string{"nonsense"}}, "nonsense", "tail-lost", ""},
		{Options{Variants: []string{"tail-lost"}}, "tail-lost", "one-byte-chunks", ""},
		{Options{Like: "nonsense"}, "nonsense", "envd", "want "}, // there are few
	} {
		_, err := Start(context.Background(), c.o)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.ID != c.id || !slices.Contains(unknown.Known, c.known) || !strings.Contains(err.Error(), c.in) {
			t.Errorf("%s: %v", c.id, err)
		}
	}
}

func TestVariantKeepaliveBetweenEvents(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"keepalive-between-events"}})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("echo x")), gatewaytest.Streaming)
	var kinds []string
	for _, e := range a.Events(t) {
		for k := range e {
			kinds = append(kinds, k)
		}
	}
	if got := strings.Join(kinds, " "); got != "start keepalive data keepalive end" {
		t.Errorf("events %s", got)
	}
}

func TestVariantExplicitZeroValues(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"explicit-zero-values"}})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming)
	if !strings.Contains(string(a.Body), `"exitCode":0`) {
		t.Errorf("%q, want exitCode 0", a.Body)
	}
	plain := startGateway(t, Options{})
	if a := gatewaytest.RoundTrip(t, plain, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming); strings.Contains(string(a.Body), "exitCode") {
		t.Errorf("%q: the reference writes a zero", a.Body)
	}
}

func TestVariantIndentedJSON(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"indented-json"}})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming)
	if !strings.Contains(string(a.Frames[0].Payload), "\n  ") || len(a.Events(t)) != 2 {
		t.Errorf("%q", a.Body)
	}
	if got := gatewaytest.NDJSON(t, g, `{"cmd":"true"}`); len(got) != 2 {
		t.Errorf("the alias writes %q", got)
	}
}

func TestVariantOneByteChunks(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"one-byte-chunks"}})
	c := gatewaytest.Dial(t, g)
	c.Request("POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("echo x")), gatewaytest.Streaming)
	head, _ := c.R.Peek(1 << 10)
	_, body, _ := strings.Cut(string(head), "\r\n\r\n")
	if !strings.HasPrefix(body, "1\r\n\x00\r\n1\r\n") {
		t.Errorf("body %q", body)
	}
	if a := c.Answer("POST"); len(a.Events(t)) != 3 || a.Code != "" {
		t.Errorf("%q", a.Body)
	}
	out, _, _, err := gatewaytest.Begin(t, gatewaytest.Client(t, g), gatewaytest.Sh("head -c 100000 /dev/zero")).Rest()
	if len(out) != 100_000 || err != nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestFaultsAndVariantsCanBeCombined(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{
		Faults:   []string{"exit-code-zeroed", "eos-dropped", "tail-lost"},
		Variants: []string{"indented-json", "one-byte-chunks", "keepalive-between-events", "explicit-zero-values"},
	})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("exit 3")), gatewaytest.Streaming)
	ev := a.Events(t)
	last := a.Frames[len(a.Frames)-1]
	if len(ev) != 3 || ev[2]["end"].(map[string]any)["exitCode"] != 0.0 || last.Flags&2 != 0 || !strings.Contains(string(last.Payload), "\n") {
		t.Errorf("%q", a.Body)
	}
}

// TestEveryVariantRunsACommandAsTheReferenceDoes is a smoke test; the self-test
// checks that the whole catalogue tolerates every variant.
func TestEveryVariantRunsACommandAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, v := range Variants() {
		t.Run(v.ID, func(t *testing.T) {
			g := startGateway(t, Options{Variants: []string{v.ID}})
			for version, opts := range map[string][]connect.ClientOption{"1.1": nil, "h2c": {connect.WithGRPC()}} {
				c := processconnect.NewProcessClient(gatewaytest.HTTPClient(t, g, version), g.URL(), opts...)
				out, errs, end, err := gatewaytest.Begin(t, c, gatewaytest.Sh("echo out; echo err >&2; exit 3")).Rest()
				if out != "out\n" || errs != "err\n" || end.GetExitCode() != 3 || err != nil {
					t.Errorf("over HTTP %s: %q %q %v %v", version, out, errs, end, err)
				}
				// A new connection, because a variant may close the first one.
				c = processconnect.NewProcessClient(gatewaytest.HTTPClient(t, g, version), g.URL(), opts...)
				_, err = c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(1, envd.Signal_SIGNAL_SIGKILL))
				gatewaytest.WantCode(t, "a signal for nobody, over HTTP "+version, err, connect.CodeNotFound)
			}
		})
	}
}

func TestEveryFaultCanBePutInAndTakenDown(t *testing.T) {
	t.Parallel()
	for _, f := range Faults() {
		g := startGateway(t, Options{Faults: []string{f.ID}, Seed: 7})
		a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON)
		if a.Status != 200 {
			t.Errorf("%s: List returned status %d", f.ID, a.Status)
		}
	}
}
