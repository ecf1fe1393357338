//go:build linux && !race

package main

import (
	"fmt"
	"io"
	"testing"

	"assay/fakes/gateway"
)

// Output passes through: the memory of the program does not grow with it.
func TestAttachHoldsNoOutput(t *testing.T) {
	t.Parallel()
	const size = 120_000_000
	url := gatewayFor(t, gateway.Options{Processes: gateway.ProcessesOS, InsecureLocal: true}).URL()
	for _, over := range attachSurfaces {
		c, _, stderr := program(t, "attach", url, "--over", over, "--cmd", "sh", "--arg", "-c", "--arg", fmt.Sprintf("head -c %d /dev/zero; exit 4", size))
		out := &counter{}
		c.Stdout = out
		most, err := peakOf(t, c)
		wantExit(t, err, 4, stderr)
		if most > 80<<10 || out.n != size {
			t.Errorf("%s: %d MB at most for %d bytes, want 80 MB or less for %d", over, most>>10, out.n, size)
		}
	}
}

// counter counts bytes.
type counter struct{ n int }

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}
