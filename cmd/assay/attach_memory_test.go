//go:build linux && !race

package main

import (
	"io"
	"testing"

	"assay/fakes/gateway"
)

// Output passes through: the memory of the program does not grow with it.
func TestAttachHoldsNoOutput(t *testing.T) {
	t.Parallel()
	url := gatewayFor(t, gateway.Options{Processes: gateway.ProcessesOS, InsecureLocal: true}).URL()
	for _, over := range attachSurfaces {
		c, _, stderr := program(t, "attach", url, "--over", over, "--cmd", "sh", "--arg", "-c", "--arg", "head -c 200000000 /dev/zero; exit 4")
		out := &counter{}
		c.Stdout = out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		peak := make(chan int)
		go func() { peak <- peakOf(c.Process.Pid) }()
		wantExit(t, c.Wait(), 4, stderr)
		if most := <-peak; most == 0 || most > 80<<10 || out.n != 200_000_000 {
			t.Errorf("%s: %d MB at most for %d bytes, want 80 MB or less for 200000000", over, most>>10, out.n)
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
