package zoo

import (
	"syscall"
	"testing"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
)

func TestVariantsOfASignalsCodeKeepItsName(t *testing.T) {
	t.Parallel()
	for id, base := range map[string]int32{"signal-code-137": 128, "signal-code-9": 0} {
		c := gatewaytest.Client(t, startGateway(t, Options{Variants: []string{id}}))
		for sig, want := range map[envd.Signal]syscall.Signal{envd.Signal_SIGNAL_SIGKILL: syscall.SIGKILL, envd.Signal_SIGNAL_SIGTERM: syscall.SIGTERM} {
			s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x"))
			if _, err := c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, sig)); err != nil {
				t.Fatal(err)
			}
			_, _, end, err := s.Rest()
			if end.GetExitCode() != base+int32(want) || end.GetExited() || end.GetStatus() != "signal: "+want.String() || err != nil {
				t.Errorf("%s: %v: %v %v", id, want, end, err)
			}
		}
		if _, _, end, _ := gatewaytest.Begin(t, c, gatewaytest.Sh("exit 7")).Rest(); end.GetExitCode() != 7 {
			t.Errorf("%s: an exit: %v", id, end)
		}
	}
}

func TestVariantUpdateIgnored(t *testing.T) {
	t.Parallel()
	c := gatewaytest.Client(t, startGateway(t, Options{Variants: []string{"update-ignored"}}))
	s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x"))
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	if _, err := c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(s.PID), Pty: size})); err != nil {
		t.Error(err)
	}
	_, err := c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(1), Pty: size}))
	gatewaytest.WantCode(t, "nobody", err, connect.CodeNotFound)
}
