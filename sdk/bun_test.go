package sdk_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/testkit"
)

// wrongWithBun is what is true of bun.mjs, by the rule that says so.
var wrongWithBun = map[string]string{
	"run.target-alive":           "input for a process that has ended, and a command that cannot be started, end it",
	"stdio.exit.not-found":       "spawn throws, and Bun drops the connection without a Close frame",
	"stdio.exit.once":            "Bun drops the exit message as well as output",
	"stdio.handshake.command":    "only a command that is missing is bash, and not an empty one",
	"stdio.handshake.connection": "Bun opens a WebSocket although Connection does not say so",
	"stdio.handshake.key":        "what Bun does not upgrade gets the text for a plain GET, with status 200",
	"stdio.handshake.origin":     "it does not look at the Origin",
	"stdio.input.after-close":    "flush throws EPIPE, or the promise of write does",
	"stdio.session.delivers":     "it sends nothing",
	"stdio.output.slow-reader":   "Bun drops the messages that do not fit into its 16 MiB",
	"stdio.signal.unknown":       "a signal without a name is SIGTERM",
}

// A server as people make one fails by what is wrong with it, and by nothing else. Its scenarios run one by one, because one that
// ends it would cut the others off.
func TestAServerForBunFailsByWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	ready(t)
	all := slices.Sorted(maps.Keys(wrongWithBun))
	for _, s := range []struct {
		name, traits, scale string
		always, seldom      []string // the causes of each run, and those of some
	}{
		{"as it is", "", "0.1", []string{"stdio.session.delivers"}, all}, // every wait is in vain: the shorter, the better
		{"sending", "sends", "1", []string{"run.target-alive"}, all},
		{"sending and surviving", "sends caught", "1", []string{
			"stdio.exit.not-found", "stdio.handshake.connection", "stdio.handshake.key", "stdio.handshake.origin", "stdio.signal.unknown",
		}, []string{
			"stdio.handshake.command",                     // if the connection breaks before Assay closes it
			"stdio.exit.once", "stdio.output.slow-reader", // if the machine writes fast enough
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			address := testkit.ReservedPort(t)
			line := fmt.Sprintf("PORT=%s exec %s bun.mjs %s", strings.TrimPrefix(address, "127.0.0.1:"), bun(t), s.traits)
			r, out := conform(t, endpoint{url: "ws://" + address + "/attach"}, "", "--exec", line, "--jobs", "1", "--time-scale", s.scale)
			for _, rule := range s.always {
				if !slices.Contains(r.causes(), rule) {
					t.Errorf("%s is no cause, but %s", rule, wrongWithBun[rule])
				}
			}
			for _, rule := range r.causes() {
				if !slices.Contains(slices.Concat(s.always, s.seldom), rule) {
					t.Errorf("%s is a cause, and nothing is wrong with that", rule)
				}
			}
			if r.Exit == 0 || t.Failed() {
				t.Errorf("exit %d, %s:\n%s", r.Exit, r.Verdict, out)
			}
		})
	}
}

// bun is the program of the npm package bun, which has one for each kind of machine; npm installs that of this one.
func bun(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("node_modules/@oven/bun-*/bin/bun")
	if err != nil || len(found) != 1 {
		t.Fatalf("the programs of Bun are %q: %v", found, err)
	}
	return found[0]
}
