package load

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/target"
)

func TestThePlanTellsItsSize(t *testing.T) {
	const url = "http://127.0.0.1:1"
	for name, tt := range map[string]struct {
		plan, url string
		want      Outline
	}{
		"held streams, ramped": {
			"streams: 4000\nduration: 1m\nclasses: [{name: a}]\n", url,
			Outline{HTTP: HTTP11, Duration: time.Minute, Streams: 4000, Starts: 1000, Lines: 1, Ending: 14 * time.Second},
		},
		"held for a time, then replaced": {
			"streams: 100\nduration: 1m\nclasses: [{name: a, hold: 2s}]\n", url,
			Outline{HTTP: HTTP11, Duration: time.Minute, Streams: 100, Starts: 100, Lines: 1, Ending: 10100 * time.Millisecond},
		},
		"short ones start as fast as the gateway allows": {
			"streams: 100\ncount: 5000\nclasses: [{name: a, lines: 3}]\n", url,
			Outline{HTTP: HTTP11, Streams: 100, Ending: 15 * time.Second},
		},
		"short ones think before they are replaced": {
			"streams: 1000\nduration: 1m\nramp: 20s\nclasses: [{name: a, hold: 1m}, {name: b, lines: 3, think: 5s}]\n", url,
			Outline{HTTP: HTTP11, Duration: time.Minute, Streams: 1000, Starts: 200, Lines: 1, Ending: 11 * time.Second},
		},
		"a rate of short ones is open for as long as the first event may take": {
			"rate: 50\nduration: 5m\nhttp: h2c\nclasses: [{name: a, lines: 3}]\n", url,
			Outline{HTTP: H2C, Duration: 5 * time.Minute, Streams: 501, Starts: 50, Ending: 25 * time.Second},
		},
		"a rate of endless ones is open until the end": {
			"stages: [{duration: 10s, from: 0, to: 20}, {duration: 10s, rate: 20}]\nclasses: [{name: a}]\n", "https://127.0.0.1:1",
			Outline{HTTP: HTTP11, Duration: 20 * time.Second, Streams: 300, StreamBytes: 7, Starts: 20, Lines: 1, Ending: 10300 * time.Millisecond},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plan.yaml")
			if err := os.WriteFile(file, []byte(tt.plan), 0o600); err != nil {
				t.Fatal(err)
			}
			o := Options{Target: target.Options{URL: tt.url}, Plan: file, Engine: sized{}}
			got, err := o.Outline()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// sized is an engine whose streams take 7 bytes over TLS.
type sized struct{ Engine }

// StreamBytes works as Sizer says.
func (sized) StreamBytes(p *Plan) int64 {
	if p.TLS == nil {
		return 0
	}
	return 7
}

func TestAWrongPlanHasNoSize(t *testing.T) {
	o := Options{Plan: "./nonesuch.yaml"}
	if _, err := o.Outline(); err == nil {
		t.Error("a plan that does not exist was taken")
	}
	o = Options{Thresholds: []string{"nonesuch > 3"}}
	if _, err := o.Outline(); err == nil {
		t.Error("a threshold on nothing was taken")
	}
}
