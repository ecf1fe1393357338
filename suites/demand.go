package suites

import (
	"slices"
	"strings"

	"assay/internal/target"
	"assay/scenarios"
)

// demand says what a run needs the target to be, and which features the probe must then look for;
// nil is all of them. A gateway is required by a profile that requires a feature of processes. It
// is optional while some scenario needs a feature that only gateways have.
func demand(p *scenarios.Profile, instances []scenarios.Instance) (target.Demand, []string) {
	if slices.ContainsFunc(p.Require, ofGateway) {
		return target.GatewayRequired, nil
	}
	want := slices.Clone(p.Require)
	for _, i := range instances {
		want = append(want, i.Features()...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if slices.ContainsFunc(want, func(id string) bool { return !ofAnyServer(id) }) {
		return target.GatewayOptional, want
	}
	if want == nil {
		want = []string{}
	}
	return target.GatewayUnneeded, want
}

// ofGateway reports whether a feature makes a target a gateway that runs commands.
func ofGateway(feature string) bool {
	return begins(feature, "process", "stdio", "ndjson", "rpc", "auth")
}

// ofAnyServer reports whether a server that is no gateway can have a feature.
func ofAnyServer(feature string) bool {
	return begins(feature, "http", "protocol", "codec", "compress", "health", "control-plane") || feature == "metrics.prometheus"
}

// begins reports whether the part of a feature before the first dot is one of the words.
func begins(feature string, words ...string) bool {
	word, _, _ := strings.Cut(feature, ".")
	return slices.Contains(words, word)
}

// knock returns the path of the first request of a script that is no RPC, or of its procedure.
func knock(instances []scenarios.Instance) string {
	path := ""
	for _, i := range instances {
		i.Scenario.EachStep(func(s *scenarios.Step) {
			switch {
			case path != "" || s.Send == nil || s.Send.Surface != "":
			case s.Send.RPC != "":
				path = s.Send.RPC
			case !strings.ContainsAny(s.Send.Path, "$ ?#"):
				path = strings.TrimPrefix(s.Send.Path, "/")
			}
		})
		if path != "" {
			break
		}
	}
	return path
}
