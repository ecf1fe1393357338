package load

import (
	"testing"
	"time"
)

func TestPartsOfAPlanAreTheWhole(t *testing.T) {
	for name, schedule := range map[string]Schedule{
		"the closed model":  {Streams: 10, Ramp: time.Second},
		"the open model":    {Rate: 10, Duration: time.Second},
		"at random":         {Rate: 10, Duration: time.Second, Poisson: true, Seed: 3},
		"in several stages": {Stages: []Stage{{time.Second, 0, 20}}, Duration: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := Plan{Schedule: schedule, Classes: []Class{{Share: 2, KillShare: 0.5, Within: time.Second}, {Share: 1}}}
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
