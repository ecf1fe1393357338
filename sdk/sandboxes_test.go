package sdk_test

import (
	"testing"

	"assay/fakes/controlplane"
	"assay/fakes/gateway"
	"assay/fakes/zoo"
)

// fewestInSandboxes is how many calls a run over a control plane must at least make.
const fewestInSandboxes = 150

// apiKey is the key that a control plane demands.
const apiKey = "e2b_0123456789abcdef0123456789abcdef01234567"

// plane returns options with a control plane that demands the key; "" demands none.
func plane(o zoo.Options, key string) zoo.Options {
	o.Token, o.ControlPlane = key, &controlplane.Options{APIKey: key, Only: true}
	return o
}

// What the SDK may expect of sandboxes, the control plane does, and each sandbox is a gateway that passes all other calls.
func TestTheSDKAcceptsTheControlPlane(t *testing.T) {
	t.Parallel()
	ready(t)
	for _, m := range []struct {
		name, mode string
		options    zoo.Options
	}{
		{"virtual processes", virtual, plane(zoo.Options{}, "")},
		{"real processes", real, plane(zoo.Options{Options: gateway.Options{Processes: gateway.ProcessesOS}}, apiKey)},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			accepts(t, serve(t, m.options), script{file: viaSandboxes, mode: m.mode}, fewestInSandboxes)
		})
	}
}

// A control plane that is broken in one way fails just there.
func TestTheSDKNoticesABrokenControlPlane(t *testing.T) {
	t.Parallel()
	ready(t)
	for _, f := range []struct{ fault, call string }{
		{"connect-shortens", "sandbox: connect is the same sandbox, and does not shorten its life"},
		{"delete-not-done", "sandbox: create, getInfo and kill"},
		{"env-vars-dropped", "sandbox: envs of create reach commands, and those of a command come first"},
		{"error-code-text", "sandbox: what nobody has is not found"},
		{"list-filter-decoded-once", "sandbox: list filters by metadata and state"},
		{"list-order-ignored", "sandbox: list has pages, and the newest first"},
		{"next-token-missing", "sandbox: list has pages, and the newest first"},
		{"pause-twice-ok", "sandbox: pause keeps files, processes and the token"},
		{"set-timeout-idle", "sandbox: setTimeout extends, and shortens until the end"},
		{"token-opens-all", "sandbox: the token of another is an AuthenticationError"},
	} {
		t.Run(f.fault, func(t *testing.T) {
			t.Parallel()
			notices(t, serve(t, plane(faulty(f.fault), "")), viaSandboxes, virtual, f.call)
		})
	}
}
