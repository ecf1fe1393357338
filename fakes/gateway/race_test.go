package gateway

import (
	"sync"
	"testing"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
)

// A kill and the line that lets the process exit are sent at the same time.
// Whichever comes first, the response to the kill, the end event and the
// counters agree.
func TestAKillRacesTheExitOverHTTP(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := gatewaytest.Client(t, g, uncompressed)
	const rounds, workers = 200, 8
	var killed, exited int
	var mu sync.Mutex
	var all sync.WaitGroup
	round := func(i int) {
		s, ctx := gatewaytest.Begin(t, c, gatewaytest.Sh("read x")), gatewaytest.Deadline(t) // each round has its own
		var pair sync.WaitGroup
		var killErr error
		input := func() { _, _ = c.SendInput(ctx, gatewaytest.Stdin(s.PID, "\n")) } // not_found when it came too late
		kill := func() { _, killErr = c.SendSignal(ctx, gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_SIGKILL)) }
		if i%4 == 0 { // so that each order occurs
			input()
		}
		pair.Go(input)
		pair.Go(kill)
		pair.Wait()
		_, _, end, err := s.Rest()
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil && killErr == nil && end.GetStatus() == "signal: killed":
			killed++
		case err == nil && connect.CodeOf(killErr) == connect.CodeNotFound && end.GetStatus() == "exit status 0":
			exited++
		default:
			t.Errorf("kill %v, end %v, %v", killErr, end, err)
		}
	}
	for w := range workers {
		all.Go(func() {
			for i := w; i < rounds; i += workers {
				round(i)
			}
		})
	}
	all.Wait()
	t.Logf("killed first: %d, exited first: %d", killed, exited)
	if killed+exited != rounds {
		t.Errorf("%d rounds are accounted for, want %d", killed+exited, rounds)
	}
	wantBooks(t, g, rounds, exited, 0, killed, 0)
}
