package reproduce

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

const hostileText = "evil\n; touch /tmp/owned\r\n`id` $(id) \x1b[31m\u202e'\"\\"

// sending returns a source that sent data in one write on HTTP/1.1.
func sending(data []byte, x bundle.Exchange) Failure {
	x.Request.Body = bundle.NewBlob(x.Request.Body.Data, nil)
	o := &bundle.Observation{Scenario: "a.b", Seed: 7, Iterations: []bundle.Iteration{{
		Conns:     []bundle.Conn{{HTTP: "1.1", Sent: bundle.NewBlob(data, nil)}},
		Exchanges: []bundle.Exchange{x},
	}}}
	return Failure{
		Instance: scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.b"}}, Observation: o, Replay: "assay replay a.b",
		Verdict: bundle.Verdict{Scenario: "a.b", Rule: "r.s", Level: "must", Conclusion: bundle.Fail, Message: hostileText, Evidence: &bundle.Evidence{Off: 9}},
	}
}

func everyByte() []byte {
	all := []byte("POST /x HTTP/1.1\r\nHost: h\r\n\r\n-%s%%\\'\n--")
	for c := range 256 {
		all = append(all, byte(c))
	}
	return all
}

func sh(t *testing.T, text string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Env = append(env, "PATH=/usr/bin:/bin", "HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(out)
}

func TestAScriptWritesTheExactBytes(t *testing.T) {
	s, err := sourceOf(sending(everyByte(), bundle.Exchange{Shape: bundle.ShapeStream}))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := s.request(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, text+"request\n"); got != string(everyByte()) {
		t.Errorf("it writes\n%q\nwant\n%q", got, everyByte())
	}
}

func TestNothingOfAMessageIsRun(t *testing.T) {
	s, err := sourceOf(sending([]byte("x"), bundle.Exchange{}))
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.script(Dialing{Host: "127.0.0.1", Port: "1"}, nil, s.about(hostileText, hostileText, "must"))
	if err != nil {
		t.Fatal(err)
	}
	head, code, _ := strings.Cut(text, "host=")
	for l := range strings.Lines(head) {
		if !strings.HasPrefix(l, "#") {
			t.Errorf("a line of the head is not a comment: %q", l)
		}
	}
	if strings.Contains(code, "owned") || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' || r > 0x7e }) {
		t.Errorf("the script contains bytes from the target:\n%s", text)
	}
	sh(t, "sh -n <<'END'\n"+text+"END\n")
}

func TestASecretIsTakenFromTheEnvironment(t *testing.T) {
	const token = `s3cr$t"'%s`
	secrets := secretHeaders([]bundle.Header{{Name: "host", Value: "h"}, {Name: "x-access-token", Value: token}, {Name: "authorization", Value: "Bearer " + token}}, secret.New([]string{token}))
	masked := strings.Repeat("*", len(token))
	data := "GET / HTTP/1.1\r\nX-Access-Token: " + masked + "\r\nauthorization: Bearer " + masked + "\r\n\r\n"
	s, err := sourceOf(sending([]byte(data), bundle.Exchange{}))
	if err != nil {
		t.Fatal(err)
	}
	text, variables, err := s.request(secrets)
	if err != nil || strings.Contains(text, "s3cr") || strings.Join(variables, " ") != "ASSAY_SECRET_AUTHORIZATION ASSAY_TOKEN" {
		t.Fatalf("%v %v\n%s", err, variables, text)
	}
	want := strings.ReplaceAll(data, masked, token)
	if got := sh(t, text+"request\n", "ASSAY_TOKEN="+token, "ASSAY_SECRET_AUTHORIZATION=Bearer "+token); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASecretElsewhereHasNoScript(t *testing.T) {
	secrets := secretHeaders([]bundle.Header{{Name: "x-access-token", Value: "topsecret"}}, secret.New([]string{"topsecret"}))
	for name, f := range map[string]Failure{
		"in a body":        sending([]byte("POST / HTTP/1.1\r\n\r\n{\"a\":\"*********\"}"), bundle.Exchange{}),
		"in HPACK's codes": sending([]byte("PRI * HTTP/2.0"), bundle.Exchange{}),
	} {
		t.Run(name, func(t *testing.T) {
			if name != "in a body" {
				f.Observation.Iterations[0].Conns[0].HTTP = "h2c"
			}
			s, err := sourceOf(f)
			if err != nil {
				t.Fatal(err)
			}
			if text, _, err := s.request(secrets); err == nil {
				t.Errorf("got a script:\n%s", text)
			}
		})
	}
}

func TestWhatNeedsAnotherConnectionHasItsReplayAlone(t *testing.T) {
	tests := []struct {
		name string
		step scenarios.Step
		want string
	}{
		{"a race", scenarios.Step{Race: &scenarios.Race{}}, "race"},
		{"a pid of an earlier start", scenarios.Step{At: "steps[0]", Signal: &scenarios.Signal{Target: scenarios.Target{To: "p"}}}, "process p"},
		{"a pid in the bytes", scenarios.Step{At: "steps[0]", Send: &scenarios.Send{Path: "/commands/${q.pid}/kill"}}, "process q"},
		{"a process that another call controls", scenarios.Step{At: "steps[1]", Signal: &scenarios.Signal{Target: scenarios.Target{To: "me"}}}, "controls"},
		{"a process that another call attaches to", scenarios.Step{At: "steps[1]", Connect: &scenarios.Connect{Target: scenarios.Target{To: "me"}}}, "attaches"},
		{"steered reading", scenarios.Step{Read: &scenarios.Read{Mode: "pause"}}, "controls"},
		{"an end in the middle", scenarios.Step{At: "steps[0]", Send: &scenarios.Send{Finish: "half"}}, "ends the connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := sending([]byte("x"), bundle.Exchange{Name: "me", Step: "steps[0]"})
			f.Instance.Scenario.Steps = []scenarios.Step{tt.step}
			if _, err := sourceOf(f); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want one of %q", err, tt.want)
			}
		})
	}
}

func TestWritesThatWaitedAreKeptApart(t *testing.T) {
	ms := int64(time.Millisecond)
	c := &bundle.Conn{Sent: bundle.NewBlob([]byte("abcdef"), nil), Reads: []bundle.Chunk{{At: bundle.Stamp{T: 102 * ms, N: 4}}}}
	for i, at := range []int64{0, 1, 101, 103} {
		n := int64(i + 1)
		if i == 3 {
			n++ // after the read
		}
		c.Writes = append(c.Writes, bundle.Chunk{Off: int64(i), Len: 1, At: bundle.Stamp{T: at * ms, N: n}})
	}
	got := writesOf(c)
	if len(got) != 3 || string(got[0].data) != "ab" || string(got[1].data) != "c" || string(got[2].data) != "def" {
		t.Fatalf("got %v", got)
	}
	if got[0].pause != 0 || got[1].pause != 100*time.Millisecond || got[2].pause != turnPause {
		t.Errorf("pauses %v %v %v", got[0].pause, got[1].pause, got[2].pause)
	}
}
