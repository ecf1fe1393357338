package engine

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/transport"
	"assay/scenarios"
)

// hanging accepts connections, and ignores each one that begins with HTTP/2.
type hanging struct {
	net.Listener
	prefaces atomic.Int64
}

func (l *hanging) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &hangingConn{Conn: c, of: l}, nil
}

type hangingConn struct {
	net.Conn
	of  *hanging
	had bool
}

func (c *hangingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.had && bytes.HasPrefix(p[:n], []byte("PRI")) {
		c.of.prefaces.Add(1)
		for err == nil {
			_, err = c.Conn.Read(p)
		}
		return 0, err
	}
	c.had = c.had || n > 0
	return n, err
}

// open returns a run whose probes got no response about those features.
func (b *bench) open(features ...string) *bench {
	for _, id := range features {
		b.options.Run.Features[id] = bundle.Feature{State: bundle.FeatureUnknown}
	}
	return b
}

func over(version string, s *scenarios.Scenario) scenarios.Instance {
	i := instanceOf(s)
	i.Axes.HTTP = version
	return i
}

// The canary is the cheapest shared instance; it runs once.
func TestOneInstanceTriesAFeatureOfWhichNoProbeCouldTell(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	b := newBench(t, gw.URL).open("http.h2c")
	l := new(hanging)
	b.options.Target = targetOf(t, frontOf(t, gw, func(inner net.Listener) net.Listener { l.Listener = inner; return l }))
	b.options.Run.Jobs = 3
	b.options.Destructive = true
	const list = "\ndeadline: 300ms\nsteps: [{list: {as: l}}]"
	all := b.start(
		over(transport.H2C, parse(t, "id: test.alone\nexclusive: true"+list)),
		over(transport.H2C, parse(t, "id: test.dangerous\ndestructive: true"+list)),
		over(transport.H2C, parse(t, "id: test.long\ndeadline: 300ms\nsteps: [{list: {as: l}}, {pause: 1ms}]")),
		over(transport.H2C, parse(t, "id: test.canary\nrepeat: {times: 2}"+list)),
		over(transport.HTTP1, parse(t, "id: test.other\nsteps: [{list: {as: l}}]")),
		over(transport.H2C, parse(t, "id: test.raw\ndeadline: 300ms\nsteps: [{open: {as: c}}]\nexpect: {c: {status: 200}}")),
	).Observations()
	for _, o := range all {
		switch o.Scenario {
		case "test.canary":
			if o.Skip != nil || len(o.Iterations) != 1 || !strings.Contains(o.Stopped, "other scenarios wait for its outcome") {
				t.Errorf("the canary: skip %+v, %d iterations, stopped %q", o.Skip, len(o.Iterations), o.Stopped)
			}
		case "test.other":
			if o.Skip != nil || o.Iterations[0].Exchange("l").Outcome != bundle.OutcomeComplete {
				t.Errorf("an instance that does not need the feature: %+v", o)
			}
		default:
			if s := o.Skip; s == nil || s.Reason != bundle.SkipUnanswered || s.Detail != "the probe for http.h2c gave no answer, and neither did test.canary" {
				t.Errorf("%s: skip %+v", o.Scenario, o.Skip)
			}
		}
	}
	if n := l.prefaces.Load(); n != 1 {
		t.Errorf("the target was asked %d times", n)
	}
}

// frontOf serves gw on a listener of its own, over HTTP/2 as well.
func frontOf(t *testing.T, gw *miniature, wrap func(net.Listener) net.Listener) (url string) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: gw.Config.Handler, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(wrap(inner))
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
	return "http://" + inner.Addr().String()
}

func TestOnceACanaryIsAnsweredTheOthersRun(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	b := newBench(t, gw.URL).open("http.h2c", "process.update", "process.tag").patient()
	b.options.Target = targetOf(t, frontOf(t, gw, func(inner net.Listener) net.Listener { return inner }))
	var began []string
	b.options.OnStart = func(i scenarios.Instance) { began = append(began, i.Scenario.ID) }
	b.options.Run.Jobs = 1
	is := []scenarios.Instance{
		over(transport.H2C, parse(t, "id: test.first\nsteps: [{list: {as: l}}, {pause: 1ms}]")),
		over(transport.H2C, parse(t, "id: test.second\nsteps: [{list: {as: l}}]")),
		instanceOf(parse(t, "id: test.third\nneeds: [process.update, process.tag]\nsteps: [{start: {as: p, sh: sleep}}, {update: {as: u, to: p, cols: 1, rows: 1}}]")),
		instanceOf(parse(t, "id: test.fourth\nneeds: [process.update]\nsteps: [{start: {as: p, sh: sleep}}, {update: {as: u, to: p, cols: 1, rows: 1}}, {pause: 1ms}]")),
		instanceOf(parse(t, "id: test.fifth\nneeds: [process.tag]\nsteps: [{list: {as: l}}]")), // it never sends a request
		instanceOf(parse(t, "id: test.sixth\nsteps: [{list: {as: l}}]")),
	}
	for _, o := range b.start(is...).Observations() {
		if o.Skip != nil {
			t.Errorf("%s: skip %+v", o.Scenario, o.Skip)
		}
	}
	first := began[:3]
	slices.Sort(first)
	if want := []string{"test.fifth", "test.fourth", "test.second"}; !slices.Equal(first, want) || began[3] != "test.sixth" {
		t.Errorf("they began in the order %v: want the canaries %v first, then the instances that need no unknown feature", began, want)
	}
}

func TestWhatCountsAsAnAnswerOverAFeature(t *testing.T) {
	ok := &bundle.Response{Status: 500}
	conns := []bundle.Conn{{ID: 0, HTTP: transport.HTTP1}, {ID: 1, HTTP: transport.H2C}, {ID: 2, HTTP: transport.H2C, H2: []bundle.H2Frame{{Dir: "sent", Type: "HEADERS"}, {Dir: "received", Type: "SETTINGS"}}},
		{ID: 3, HTTP: transport.H2C, H2: []bundle.H2Frame{{Dir: "received", Type: "GOAWAY"}}}}
	for name, tc := range map[string]struct {
		feature   string
		exchanges []bundle.Exchange
		want      bool
	}{
		"any response":                        {"rpc.get", []bundle.Exchange{{Response: ok}}, true},
		"no response":                         {"rpc.get", []bundle.Exchange{{}}, false},
		"nothing was asked":                   {"rpc.get", nil, true},
		"the clean-up was answered":           {"rpc.get", []bundle.Exchange{{}, {Op: opCleanup, Response: ok}, {Op: opProbe, Response: ok}}, false},
		"over another HTTP version":           {"http.h2c", []bundle.Exchange{{Response: ok}, {Conn: 1}}, false},
		"over that HTTP version":              {"http.h2c", []bundle.Exchange{{}, {Conn: 1, Response: ok}}, true},
		"by SETTINGS alone":                   {"http.h2c", []bundle.Exchange{{Conn: 2}}, false},
		"by a frame that refuses":             {"http.h2c", []bundle.Exchange{{Conn: 3}}, true},
		"on no connection":                    {"http.h2c", []bundle.Exchange{{Conn: -1}, {Conn: 1}}, false},
		"in another protocol":                 {"protocol.grpc", []bundle.Exchange{{Protocol: "connect", Response: ok}, {Protocol: "grpc"}}, false},
		"in that protocol":                    {"protocol.grpc-web", []bundle.Exchange{{Protocol: "grpc-web", Response: ok}}, true},
		"in another codec":                    {"codec.proto", []bundle.Exchange{{RPC: call.ProcessList, Codec: "json", Response: ok}, {RPC: call.ProcessList, Codec: "proto"}}, false},
		"another procedure":                   {"process.update", []bundle.Exchange{{RPC: call.ProcessStart, Response: ok}, {RPC: "process.Process/Update"}}, false},
		"that procedure, which was not asked": {"process.update", []bundle.Exchange{{RPC: call.ProcessStart}}, true},
		"another surface":                     {"ndjson.commands", []bundle.Exchange{{Surface: surfaceProcess, Response: ok}, {Surface: surfaceCommands}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &bundle.Observation{Iterations: []bundle.Iteration{{Conns: conns, Exchanges: tc.exchanges}}}
			if got := answered(tc.feature, o); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	scraped := &bundle.Observation{Scrapes: []bundle.Scrape{{}, {Status: 200}}}
	if !answered("metrics.process", scraped) || answered("metrics.process", &bundle.Observation{Scrapes: scraped.Scrapes[:1]}) {
		t.Error("only the metrics have scrapes")
	}
}

// Waiting for a canary ends with the run.
func TestACanaryThatIsNotRunHoldsNobodyUp(t *testing.T) {
	b := newBench(t, newMiniature(t).URL).open("process.tag")
	b.options.Run.Jobs = 1
	b.options.Budget = time.Nanosecond
	is := numbered(t, 3, "needs: [process.tag]\nsteps: [{list: {as: l}}]")
	for _, o := range b.start(is...).Observations() {
		if o.Skip == nil || o.Skip.Reason != bundle.SkipBudget {
			t.Errorf("%s: skip %+v", o.Scenario, o.Skip)
		}
	}
}

// The only worker runs a canary that mostly waits before the instances that wait for the canary.
func TestACanaryThatWaitsRunsFirstOnTheOnlyWorker(t *testing.T) {
	b := newBench(t, newMiniature(t).URL).open("process.tag")
	b.options.Run.Jobs = 1
	const needs = "\nneeds: [process.tag]\nsteps: "
	is := []scenarios.Instance{
		instanceOf(parse(t, "id: test.other\ndeadline: 20s"+needs+"[{list: {as: l}}]")),
		instanceOf(parse(t, "id: test.canary\ndeadline: 10s"+needs+"[{list: {as: l}}, {pause: 1s}]")),
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e := &Engine{env: newEnv(b.options), o: b.options}
		e.gone.Store(true) // no instance runs: each is only on its way
		for _, i := range is {
			e.slots = append(e.slots, &slot{instance: i, run: i, seen: make(chan struct{}), ready: make(chan struct{})})
		}
		e.runShared(ctx, e.schedule().shared)
		for _, s := range e.slots {
			if s.observation.Skip.Reason != bundle.SkipTargetGone {
				t.Errorf("%s: skip %+v", s.instance.Scenario.ID, s.observation.Skip)
			}
		}
	})
}
