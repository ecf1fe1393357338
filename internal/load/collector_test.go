package load

import (
	"fmt"
	"testing"

	"assay/internal/record/bundle"
)

func TestAMessageIsKeptOnceAndCounted(t *testing.T) {
	c := newCollector(1, oneClass())
	for i := range int64(100) {
		c.Ended(Result{Stream: i, Outcome: bundle.StreamReset, Message: "hung up"})
		c.Ended(Result{Stream: 100 + i, Outcome: bundle.StreamCorrupt, Message: fmt.Sprintf("line %d", i)})
		c.Ended(Result{Stream: 200 + i, Outcome: bundle.StreamOK})
	}
	all := sortExamples(c.examples)
	if len(all) != 1+maxExamples {
		t.Fatalf("%d examples: %v", len(all), all)
	}
	if want := (bundle.LoadExample{Stream: 0, Outcome: "reset", Message: "hung up", Times: 100}); all[0] != want {
		t.Errorf("%+v, want %+v", all[0], want)
	}
	for i, e := range all[1:] {
		if e.Times != 1 || e.Message != fmt.Sprintf("line %d", i) {
			t.Errorf("%+v", e)
		}
	}
}
