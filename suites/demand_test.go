package suites

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/target"
	"assay/scenarios"
)

// instancesOf parses scripts with these steps.
func instancesOf(t *testing.T, bodies ...string) []scenarios.Instance {
	t.Helper()
	var all []scenarios.Instance
	for _, body := range bodies {
		s, err := scenarios.Parse("x.yaml", []byte("id: my.script\ntitle: A script\nrules: [my.rule]\n"+body))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, scenarios.Instance{Scenario: s, Axes: s.Permutations()[0]})
	}
	return all
}

const (
	plainGet  = "send: {path: /items/1}\nexpect: {send: {status: 200}}\n"
	connectIt = "send: {rpc: shop.v1.Shop/Order, message: {}}\nexpect: {send: ok}\n"
	healthy   = "needs: [health]\nsend: {surface: health, method: GET}\nexpect: {send: {status: 200}}\n"
	runs      = "steps:\n  - start: {as: p, sh: 'true', wait: end}\nexpect: {p: {end: {code: 0}}}\n"
)

func TestAGatewayIsDemandedOnlyForWhatOneHas(t *testing.T) {
	for name, tt := range map[string]struct {
		require []string
		scripts []string
		want    target.Demand
		probed  string // a feature that is looked for, "" for all
	}{
		"a profile of processes":             {[]string{"process.start"}, []string{plainGet}, target.GatewayRequired, ""},
		"a profile of stdio":                 {[]string{"stdio.ws"}, []string{plainGet}, target.GatewayRequired, ""},
		"plain requests":                     {nil, []string{plainGet}, target.GatewayUnneeded, "http.1"},
		"procedures of one's own":            {[]string{"http.1"}, []string{connectIt}, target.GatewayUnneeded, "protocol.connect"},
		"a health check":                     {nil, []string{healthy}, target.GatewayUnneeded, "health"},
		"a script with a process among them": {nil, []string{plainGet, runs}, target.GatewayOptional, "process.start"},
		"a feature of files":                 {[]string{"filesystem"}, []string{plainGet}, target.GatewayOptional, "filesystem"},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := demand(&scenarios.Profile{Require: tt.require}, instancesOf(t, tt.scripts...))
			if got != tt.want || (want == nil) != (tt.probed == "") || tt.probed != "" && !slices.Contains(want, tt.probed) {
				t.Errorf("demand %d with the features %q, want %d with %q", got, want, tt.want, tt.probed)
			}
			for _, id := range want {
				if !slices.Contains(target.Features(), id) {
					t.Errorf("%q is no feature", id)
				}
			}
		})
	}
}

func TestTheFirstRequestOfAScriptIsWhereAServiceResponds(t *testing.T) {
	for scripts, want := range map[string]string{
		plainGet: "items/1", connectIt: "shop.v1.Shop/Order", healthy: "", runs: "", runs + "|" + plainGet: "items/1",
	} {
		if got := knock(instancesOf(t, strings.Split(scripts, "|")...)); got != want {
			t.Errorf("%q: %q, want %q", scripts, got, want)
		}
	}
}
