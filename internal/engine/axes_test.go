package engine

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// grpcOnly is the default of a target that has neither HTTP/1.1 nor Connect nor JSON.
var grpcOnly = bundle.Axes{Protocol: call.GRPC, Codec: call.Proto, HTTP: transport.H2C, Compression: "identity"}

func TestADefaultReplacesOnlyTheAxesThatAScriptDoesNotSettle(t *testing.T) {
	t.Parallel()
	const list = "steps: [{list: {as: l}}]"
	for name, tc := range map[string]struct {
		script, want string
	}{
		"none is pinned": {list, "grpc/proto/h2c/identity"},
		"axes that the script lists stay": {
			"axes: {codec: json, http: '1.1'}\n" + list, "grpc/json/1.1/identity",
		},
		"a rule of the Connect protocol is tested over Connect": {
			list + " # connect.unary.success", "connect/proto/h2c/identity",
		},
		"literal bytes are JSON": {
			`steps: [{send: {as: l, rpc: process.Process/List, body: [{envelope: {json: {}}}]}}]`, "grpc/json/h2c/identity",
		},
		"messages are in any codec": {
			`steps: [{send: {as: l, rpc: process.Process/Start, body: [{chunk: {of: [{envelope: {message: {}}}], last: true}}]}}]`, "grpc/proto/h2c/identity",
		},
		"a raw connection speaks HTTP/1.1": {
			`steps: [{open: {as: c}}, {list: {as: l}}]`, "grpc/proto/1.1/identity",
		},
		"unless it is of HTTP/2": {
			`steps: [{open: {as: c, http: h2}}, {list: {as: l}}]`, "grpc/proto/h2c/identity",
		},
		"fields that HTTP/2 does not have": {
			`steps: [{race: {a: {send: {as: l, rpc: process.Process/List, headers: {Connection: close}}}, b: {list: {as: m}}}}]`, "grpc/proto/1.1/identity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, tc.script)
			if _, rule, ok := strings.Cut(tc.script, "# "); ok {
				s.Rules = []string{rule}
			}
			i := scenarios.Instance{Scenario: s, Axes: s.Permutations()[0]}
			if got := axesOf(i, grpcOnly, targetOf(t, "http://127.0.0.1:1")).String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func targetOf(t *testing.T, url string) *target.Target {
	t.Helper()
	tgt, err := target.New(target.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

func TestHTTP2IsOverTLSWhereTheTargetIs(t *testing.T) {
	i := instanceOf(parse(t, "steps: [{list: {as: l}}]"))
	i.Axes.HTTP = transport.H2C
	if got := axesOf(i, bundle.Axes{}, targetOf(t, "https://127.0.0.1:1")).HTTP; got != transport.H2TLS {
		t.Errorf("got %s", got)
	}
	if got := axesOf(i, bundle.Axes{}, targetOf(t, "http://127.0.0.1:1")).HTTP; got != transport.H2C {
		t.Errorf("got %s", got)
	}
}

func TestWhatAnInstanceNeedsIsImpliedByItsAxesAndSteps(t *testing.T) {
	none := map[string]bundle.Feature{}
	absent := map[string]bundle.Feature{}
	for _, id := range target.Features() {
		absent[id] = bundle.Feature{State: bundle.FeatureAbsent}
	}
	all := bundle.Axes{Protocol: call.GRPCWeb, Codec: call.Proto, HTTP: transport.H2TLS, Compression: call.Gzip}
	for name, tc := range map[string]struct {
		script   string
		axes     bundle.Axes
		features map[string]bundle.Feature
		want     []string
	}{
		"the plain axes are assumed": {"steps: [{list: {as: l}}]", plainAxes, none, nil},
		"unless the target lacks them": {
			"steps: [{list: {as: l}}]", plainAxes, absent, []string{"codec.json", "http.1", "protocol.connect"},
		},
		"other axes must be present": {
			"steps: [{list: {as: l}}]", all, none, []string{"codec.proto", "compress.gzip", "http.h2-tls", "protocol.grpc-web"},
		},
		"codec and protocol do not matter outside RPCs": {
			"steps: [{send: {as: l, surface: health}}]", all, none, []string{"compress.gzip", "http.h2-tls"},
		},
		"nor for the alias": {
			"steps: [{start: {as: l, via: commands, sh: x}}, {signal: {to: l, via: commands}}, {list: {as: m, via: commands}}]", all, none, []string{"compress.gzip", "http.h2-tls"},
		},
		"a step that asks for another protocol": {
			"steps: [{parallel: [{send: {as: l, rpc: process.Process/List, protocol: grpc}}, {list: {as: m}}]}]", plainAxes, none, []string{"protocol.grpc"},
		},
		"a script of HTTP/1.1 cannot run on a target that has only gRPC": {
			"axes: {http: '1.1'}\nsteps: [{list: {as: l}}]", bundle.Axes{Protocol: call.GRPC, Codec: call.Proto, HTTP: transport.HTTP1},
			map[string]bundle.Feature{"protocol.grpc": {State: bundle.FeaturePresent}, "codec.proto": {State: bundle.FeaturePresent}},
			[]string{"protocol.grpc over HTTP/1.1, which does not exist"},
		},
		"a connection of HTTP/2": {"steps: [{open: {as: c, http: h2}}]\nexpect: {c: {outcome: closed}}", plainAxes, none, []string{"http.h2c"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := scenarios.Instance{Scenario: parse(t, tc.script), Axes: tc.axes}
			if got := missing(i, tc.features, transport.H2C); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
