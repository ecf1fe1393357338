package reproduce

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

func TestAPlaybackEndsAsTheAnswerDid(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"
	pieces := func(text ...string) *printed {
		p := &printed{}
		for i, piece := range text {
			p.arrivals = append(p.arrivals, arrival{time.Duration(i) * time.Minute, []byte(piece)})
		}
		return p
	}
	whole := pieces(half, "}")
	whole.complete = true
	for _, c := range []struct {
		name string
		came *printed
		was  bundle.Outcome
		want bundle.Outcome
	}{
		{"whole", whole, bundle.OutcomeComplete, bundle.OutcomeComplete},
		{"truncated by the target", pieces(half), bundle.OutcomeClosed, bundle.OutcomeClosed},
		{"truncated in its head", pieces(half[:20]), bundle.OutcomeReset, bundle.OutcomeClosed},
		{"stalled", pieces(half), bundle.OutcomeStalled, bundle.OutcomeStalled},
		{"nothing", pieces(), bundle.OutcomeNoAnswer, bundle.OutcomeNoAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := unary("{}", bundle.Header{Name: "host", Value: "h"})
			f.Observation.Iterations[0].Exchanges[0].Outcome = c.was
			s, err := sourceOf(f)
			if err != nil {
				t.Fatal(err)
			}
			said := c.came.bytes()
			o, err := s.playback(t.Context(), transport.NewClock(), nil, c.came)
			if err != nil {
				t.Fatal(err)
			}
			x := o.Iterations[0].Exchanges
			if len(x) != 1 || x[0].Outcome != c.want {
				t.Fatalf("got %+v, want it %s", x, c.want)
			}
			pauses := time.Duration(max(0, len(c.came.arrivals)-1)) * time.Minute
			if took := time.Duration(x[0].Returned.T - x[0].Invoked.T); took < pauses || took > pauses+30*time.Second {
				t.Errorf("the playback took %v, want the pauses of %v", took, pauses)
			}
			if now := c.came.bytes(); !bytes.Equal(now, said) {
				t.Errorf("the playback has changed %q into %q", said, now)
			}
		})
	}
}

// No record of a playback, which is what the text shows, has a secret: wherever a chunk splits it, and whatever it is encoded in.
func TestAPlaybackHasNoSecretThatAChunkSplits(t *testing.T) {
	const token = "t0ken/of+the&run-0123"
	redact := secret.New([]string{token})
	for name, encode := range testkit.Encodings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encode(token)
			for cut := 1; cut < len(body); cut++ {
				head := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", cut)
				middle := fmt.Sprintf("\r\n%x\r\n", len(body)-cut)
				said := head + body[:cut] + middle + body[cut:] + "\r\n0\r\n\r\n"
				s, err := sourceOf(unary("{}", bundle.Header{Name: "host", Value: "h"}))
				if err != nil {
					t.Fatal(err)
				}
				o, err := s.playback(t.Context(), transport.NewClock(), redact, &printed{complete: true, arrivals: []arrival{{0, []byte(said)}}})
				if err != nil {
					t.Fatal(err)
				}
				kept := string(o.Iterations[0].Conns[0].Received.Data)
				if len(kept) != len(said) || !strings.HasPrefix(kept, head) {
					t.Fatalf("cut at %d: the response is lost: %q", cut, kept)
				}
				joined := kept[len(head):][:cut] + kept[len(head)+cut+len(middle):]
				if strings.Contains(joined, body) || len(testkit.Remains([]byte(joined), token)) > 0 {
					t.Fatalf("cut at %d: %q", cut, kept)
				}
			}
		})
	}
}

func TestAPlaybackOfHTTP2SpeaksBeforeItIsAsked(t *testing.T) {
	status := h2.EncodeFields(wire.Field{Name: ":status", Value: "200"})
	said := h2.AppendSettings(nil, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	said = h2.AppendData(h2.Block{Stream: 1, Fields: status}.Append(said, h2.DefaultMaxFrame), 1, []byte("{}"), true)
	for cut := 1; cut < len(said); cut++ {
		f := unary("{}", bundle.Header{Name: "host", Value: "h"})
		f.Observation.Iterations[0].Conns[0].HTTP = "h2-tls"
		s, err := sourceOf(f)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.playback(t.Context(), transport.NewClock(), nil, &printed{complete: true, arrivals: []arrival{
			{time.Second, said[:cut]}, {2 * time.Second, said[cut:]},
		}})
		if err != nil {
			t.Fatal(err)
		}
		it := o.Iterations[0]
		if x := it.Exchanges[0]; x.Outcome != bundle.OutcomeComplete || string(x.Body.Data) != "{}" || it.Conns[0].HTTP != "h2-tls" {
			t.Errorf("cut at %d: %s (%s) on %s", cut, x.Outcome, x.Detail, it.Conns[0].HTTP)
		}
		frames := it.Conns[0].H2
		asked := slices.IndexFunc(frames, func(f bundle.H2Frame) bool { return f.Dir == "sent" && f.Type == "HEADERS" })
		settled := slices.IndexFunc(frames, func(f bundle.H2Frame) bool { return f.Dir == "received" && f.Type == "SETTINGS" })
		if answered := slices.IndexFunc(frames, func(f bundle.H2Frame) bool { return f.Dir == "received" && f.Type == "HEADERS" }); settled > asked || asked > answered {
			t.Errorf("cut at %d: settings %d, request %d, answer %d", cut, settled, asked, answered)
		}
	}
}
