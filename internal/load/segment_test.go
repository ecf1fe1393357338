package load

import (
	"testing"
	"time"

	"assay/internal/target"
	"assay/scenarios"
)

func TestOnlyConnectionsOfTheirOwnLimitTheStreamsOfAWorker(t *testing.T) {
	const url = "http://127.0.0.1:1"
	w := Worker{Target: target.Options{URL: url}, Engines: []Engine{named{}}, Local: true}
	for http, limited := range map[string]bool{HTTP11: true, H2C: false} {
		s, err := w.Segment(&Job{
			Aim: Aim{URL: url}, HTTP: http, Streams: 100_000, Duration: time.Second, Seed: 1, Engine: "named", Parts: 2,
			Classes: []scenarios.WorkloadClass{{Name: "a", Share: 1, Protocol: ProtocolConnect, Codec: CodecJSON}},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.plan.MaxOpen; (got > 0) != limited {
			t.Errorf("over %s, %d streams may be open", http, got)
		}
	}
}

// named is an engine that opens nothing.
type named struct{ Engine }

// Name works as Engine says.
func (named) Name() string { return "named" }
