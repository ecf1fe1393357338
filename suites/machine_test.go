package suites

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/base/machine"
)

func TestJobsFitTheDescriptors(t *testing.T) {
	for name, tt := range map[string]struct {
		jobs, limit int
		embedded    bool
		want        int
	}{
		"unlimited":                 {8, 0, false, 8},
		"enough":                    {8, 168, false, 8},
		"one too few":               {8, 167, false, 7},
		"just one":                  {8, 84, false, 1},
		"the gateway needs as many": {8, 144, true, 1},
		"too few":                   {8, 83, false, 0},
		"too few for both":          {1, 143, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fitJobs(tt.jobs, tt.limit, tt.embedded)
			var limit *machine.LimitError
			if got != tt.want || errors.As(err, &limit) != (tt.want == 0) {
				t.Fatalf("%d jobs, %v; want %d", got, err, tt.want)
			}
			if limit != nil && !strings.Contains(limit.Mend, "ulimit -n ") {
				t.Errorf("the mend is %q", limit.Mend)
			}
		})
	}
}
