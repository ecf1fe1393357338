package load

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

// jobFor returns the second of two parts of a plan of ten streams.
func jobFor(addr string) job {
	return job{
		Target: target.Options{URL: "http://" + addr}, Run: "test", HTTP: HTTP11, Streams: 10, Count: 10, Seed: 1, Engine: "stub",
		Classes: []scenarios.WorkloadClass{{Name: "a", Share: 1, Protocol: ProtocolConnect, Codec: CodecJSON, Lines: 3}},
		Part:    1, Parts: 2,
	}
}

func TestAWorkerDoesItsPart(t *testing.T) {
	j := jobFor("127.0.0.1:1")
	in, feed := io.Pipe()
	out, tell := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Work(t.Context(), in, tell, stub{})
		_ = tell.Close()
	}()
	if err := json.NewEncoder(feed).Encode(j); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(out)
	var s said
	if err := dec.Decode(&s); err != nil || s.Error != "" || s.Tally.Opening > 0 {
		t.Fatalf("%v, %+v before goAhead", err, s)
	}
	if _, err := io.WriteString(feed, goAhead); err != nil {
		t.Fatal(err)
	}
	sink := newCollector(1)
	for last := s.Tally; !s.Done; last = s.Tally {
		s = said{}
		if err := dec.Decode(&s); err != nil {
			t.Fatal(err)
		}
		sink.absorb(last, s.Tally)
	}
	_ = feed.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if b := sink.snapshot(); b.outcomes[bundle.StreamOK] != 5 || b.fates[EndedOK] != 5 || sink.started.Load() != 5 || sink.live.Load() != 0 || sink.peak.Load() < 1 {
		t.Errorf("%+v", b)
	}
	if len(s.Values) == 0 || s.Values[0].Metric != FirstEvent || s.Values[0].Class != 0 || s.CPU <= 0 {
		t.Errorf("it measured %v", s.Values)
	}
}

func TestAWorkerThatCannotBeginSaysSo(t *testing.T) {
	unknown := jobFor("127.0.0.1:1")
	unknown.Engine = "warp"
	nowhere := jobFor("127.0.0.1:1")
	nowhere.Target.URL = "ftp://x"
	sources := jobFor("127.0.0.1:1")
	sources.Sources = []string{"here"}
	for want, j := range map[string]any{`no engine "warp"`: unknown, "ftp": nowhere, "source address": sources, "the job": "x"} {
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Work(t.Context(), bytes.NewReader(text), &out, stub{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if want != "the job" && !strings.Contains(out.String(), `"Error"`) {
			t.Errorf("%s: it said %q", want, out.String())
		}
	}
	var out bytes.Buffer
	text, _ := json.Marshal(jobFor("127.0.0.1:1"))
	if err := Work(t.Context(), bytes.NewReader(text), &out, stub{}); err != nil {
		t.Errorf("the end of the run is an error: %v", err)
	}
}

func TestPartsOfAPlanAreTheWhole(t *testing.T) {
	for name, p := range map[string]Plan{
		"the closed model":  {Streams: 10, Ramp: time.Second},
		"the open model":    {Rate: 10, Duration: time.Second},
		"at random":         {Rate: 10, Duration: time.Second, Poisson: true, Seed: 3},
		"in several stages": {Stages: []Stage{{time.Second, 0, 20}}, Duration: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p.Classes = []Class{{Share: 2, KillShare: 0.5, Within: time.Second}, {Share: 1}}
			whole := p.Pacer()
			wanted := 0
			parts := [3]Pacer{}
			for i := range parts {
				q := p
				q.Part, q.Parts = i, 3
				parts[i] = q.Pacer()
				wanted += q.Wanted()
				if q.Stream(4) != p.Stream(int64(4*3+i)) {
					t.Error("a stream has another part")
				}
			}
			for n := range p.Wanted() {
				want, ok := whole.At(n)
				got, has := parts[n%3].At(n / 3)
				if want != got || ok != has {
					t.Fatalf("stream %d at %v, want %v", n, got, want)
				}
			}
			if wanted != p.Wanted() {
				t.Errorf("%d are wanted of the parts, %d of the whole", wanted, p.Wanted())
			}
		})
	}
}
