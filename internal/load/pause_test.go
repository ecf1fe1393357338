package load

import (
	"strings"
	"testing"
	"time"

	"assay/internal/target"
)

func TestAPauseNeedsAWorker(t *testing.T) {
	_, err := Run(t.Context(), Options{Target: target.Options{URL: "http://127.0.0.1:1"}, Engine: stub{}, Pause: &Pause{}, Schedule: Schedule{Streams: 1, Duration: time.Second}})
	if err == nil || !strings.Contains(err.Error(), "a pause needs worker processes") {
		t.Errorf("%v", err)
	}
}
