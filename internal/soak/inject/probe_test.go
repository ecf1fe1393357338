package inject

import (
	"context"
	"strings"
	"testing"

	"assay/internal/soak/client"
	"assay/internal/target"
)

// What could not be measured is no finding.
func TestWhatCouldNotBeMeasuredIsSaid(t *testing.T) {
	dead, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c := client.New(dead, "run")
	defer c.Close()
	for want, p := range map[string]*probe{"the commands before the fault failed": {client: c, scale: 1}, "the window ended first": {client: c, scale: 1, usual: 1}} {
		if ms, why := p.recovered(ctx); ms != nil || !strings.Contains(why, want) {
			t.Errorf("%v, %q, want %q", ms, why, want)
		}
	}
}
