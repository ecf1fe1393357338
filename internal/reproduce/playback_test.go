package reproduce

import (
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/internal/transport"
)

func TestAPlaybackEndsAsTheAnswerDid(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"
	pieces := func(text ...string) *printed {
		p := &printed{}
		for i, piece := range text {
			p.arrivals = append(p.arrivals, arrival{time.Duration(i) * 2 * pauseKept, []byte(piece)})
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
		{"cut by the target", pieces(half), bundle.OutcomeClosed, bundle.OutcomeClosed},
		{"cut in its head", pieces(half[:20]), bundle.OutcomeReset, bundle.OutcomeClosed},
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
			o, err := s.playback(t.Context(), transport.NewClock(), c.came)
			if err != nil {
				t.Fatal(err)
			}
			if x := o.Iterations[0].Exchanges; len(x) != 1 || x[0].Outcome != c.want {
				t.Errorf("got %+v, want it %s", x, c.want)
			}
		})
	}
}
