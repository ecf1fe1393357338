package sdk_test

import "testing"

// fewestInSandboxes is how many calls a run over a control plane must at least make.
const fewestInSandboxes = 150

// apiKey is the key that a control plane demands.
const apiKey = "e2b_0123456789abcdef0123456789abcdef01234567"

// What the SDK may expect of sandboxes, the control plane does, and each sandbox is a gateway that passes all other calls.
func TestTheSDKAcceptsTheControlPlane(t *testing.T) {
	program := ready(t)
	for _, m := range []struct {
		name, mode string
		setup      setup
	}{
		{"virtual processes", virtual, setup{args: []string{"--control-plane"}}},
		{"real processes", real, setup{key: apiKey, args: []string{"--control-plane", "--processes", "os"}}},
	} {
		t.Run(m.name, func(t *testing.T) {
			g := serve(t, program, m.setup)
			accepts(t, g, script{file: viaSandboxes, mode: m.mode}, fewestInSandboxes)
		})
	}
}

// A control plane that is broken in one way fails just there.
func TestTheSDKNoticesABrokenControlPlane(t *testing.T) {
	program := ready(t)
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
			g := serve(t, program, setup{args: []string{"--control-plane", "--fault", f.fault}})
			if calls := some(t, g, script{viaSandboxes, virtual, only(f.call)}); calls[0].OK {
				t.Errorf("%q passed", f.call)
			}
		})
	}
}
