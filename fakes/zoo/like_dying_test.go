package zoo

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/testkit"
)

// program returns a Start of a program without arguments.
func program(name string) *connect.Request[envd.StartRequest] {
	return connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: name}})
}

// A gateway dies at the request that it is named after, and at no other, with all its connections and commands. One under a
// supervisor comes back and knows nothing, as often as it dies.
func TestADyingGatewayTakesEverythingAlong(t *testing.T) {
	t.Parallel()
	lateInput := func(t *testing.T, c processconnect.ProcessClient) error {
		s := gatewaytest.Begin(t, c, gatewaytest.Sh("true"))
		if _, _, end, err := s.Rest(); err != nil || end.GetExitCode() != 0 {
			t.Errorf("end %v, %v", end, err)
		}
		_, err := c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(s.PID, "x"))
		return err
	}
	lateStream := func(t *testing.T, c processconnect.ProcessClient) error {
		s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x"))
		in := c.StreamInput(gatewaytest.Deadline(t))
		start := &envd.StreamInputRequest_Start{Start: &envd.StreamInputRequest_StartEvent{Process: gatewaytest.ByPID(s.PID)}}
		if err := in.Send(&envd.StreamInputRequest{Event: start}); err != nil {
			t.Error(err)
		}
		// The gateway may read the start only after the process has ended, and dies of it.
		_, _ = c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_SIGKILL))
		_, _, _, _ = s.Rest()
		data := &envd.StreamInputRequest_Data{Data: &envd.StreamInputRequest_DataEvent{Input: gatewaytest.Stdin(s.PID, "x").Msg.GetInput()}}
		_ = in.Send(&envd.StreamInputRequest{Event: data}) // the answer says what came of it
		_, err := in.CloseAndReceive()
		return err
	}
	unknownInput := func(t *testing.T, c processconnect.ProcessClient) error {
		_, err := c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(1, "x"))
		return err
	}
	lateSignal := func(t *testing.T, c processconnect.ProcessClient) error {
		s := gatewaytest.Begin(t, c, gatewaytest.Sh("true"))
		_, _, _, _ = s.Rest()
		_, err := c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_SIGKILL))
		return err
	}
	run := func(req *connect.Request[envd.StartRequest]) func(*testing.T, processconnect.ProcessClient) error {
		return func(t *testing.T, c processconnect.ProcessClient) error {
			s, err := c.Start(gatewaytest.Deadline(t), req)
			if err != nil {
				return err
			}
			for s.Receive() {
				continue
			}
			return errors.Join(s.Err(), s.Close())
		}
	}
	type request = func(*testing.T, processconnect.ProcessClient) error
	for id, c := range map[string]struct{ kills, spares []request }{
		"dies-on-late-input": {[]request{lateInput, lateStream}, []request{unknownInput, lateSignal, run(program("/no/such")), run(gatewaytest.Sh("no-such"))}},
		"dies-on-unknown-program": {
			[]request{run(program("/no/such")), run(program("no-such"))},
			[]request{unknownInput, lateInput, run(program("true")), run(program("/bin/true")), run(gatewaytest.Sh("no-such"))},
		},
	} {
		for n, kill := range c.kills {
			g := startGateway(t, Options{Like: id})
			client := gatewaytest.Client(t, g)
			for _, spare := range c.spares {
				_ = spare(t, client) // what it returns is not about this
			}
			command := gatewaytest.Begin(t, client, gatewaytest.Sh("read x"))
			socket := attach(t, g, script("read x"))
			if len(listed(t, client)) == 0 {
				t.Errorf("%s: a request that it survives killed it", id)
			}
			if err := kill(t, client); err == nil || connect.CodeOf(err) == connect.CodeNotFound {
				t.Errorf("%s: request %d was answered: %v", id, n, err)
			}
			if _, _, end, err := command.Rest(); end != nil || err == nil {
				t.Errorf("%s: another stream ended with %v, %v", id, end, err)
			}
			if heard := socket.rest(); heard != "" {
				t.Errorf("%s: a WebSocket heard %q", id, heard)
			}
			if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL(), "http://")); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: after its death: %v", id, err)
			}
		}
		client := gatewaytest.Client(t, startGateway(t, Options{Like: id + "-restarted"}))
		for life := range 3 {
			testkit.Eventually(t, func() error {
				res, err := client.List(context.Background(), connect.NewRequest(&envd.ListRequest{}))
				if err == nil && len(res.Msg.GetProcesses()) > 0 {
					t.Fatalf("%s: life %d begins with %v", id, life, res.Msg)
				}
				return err
			})
			gatewaytest.Begin(t, client, gatewaytest.Sh("read x"))
			if err := c.kills[0](t, client); err == nil || connect.CodeOf(err) == connect.CodeNotFound {
				t.Errorf("%s: life %d goes on: %v", id, life, err)
			}
		}
	}
}
