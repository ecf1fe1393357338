package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/base/machine"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"
	"assay/scenarios"
)

// numbered returns n scenarios with the same text.
func numbered(t *testing.T, n int, text string) []scenarios.Instance {
	t.Helper()
	all := make([]scenarios.Instance, n)
	for i := range all {
		all[i] = instanceOf(parse(t, fmt.Sprintf("id: test.number-%d\n%s", i, text)))
	}
	return all
}

// on returns n instances that use a way.
func on(w way, n int) []*instance {
	all := make([]*instance, n)
	for i := range all {
		all[i] = &instance{ways: []way{w}}
	}
	return all
}

// Each letter is an instance that waits in vain or ends well, a capital one the instance before it once more.
func TestAWayOpensAndClosesAsItsTableSays(t *testing.T) {
	for outcomes, want := range map[string]bool{
		"":           false,
		"vvv":        false,
		"vvvv":       true,
		"vVVVVVV":    false, // one instance counts once
		"vvvW":       false,
		"wvvvv":      false,
		"wvvvvv":     true,
		"vvwvwvvv":   true,
		"vvvvvvvw":   false, // what ends well closes it
		"vvvvvvvwv":  false,
		"vvvvwvvvvv": true, // and it opens again
		"wwwwwwvvvv": false,
	} {
		var b breaker
		w := way{"HTTP h2c", kindCall}
		var in *instance
		for _, o := range outcomes {
			if strings.ContainsRune("vw", o) {
				in = on(w, 1)[0]
			}
			b.mark(in, strings.ContainsRune("wW", o))
		}
		if skip := b.open([]way{{"HTTP 1.1", kindCall}, w}); b.isOpen(w) != want || (skip != nil) != want {
			t.Errorf("%q: open %v, %+v; want %v", outcomes, b.isOpen(w), skip, want)
		}
		if skip := b.open([]way{{"HTTP h2c", kindStream}}); skip != nil {
			t.Errorf("%q: another way is open: %+v", outcomes, skip)
		}
	}
}

func TestWhatIsWaitedForInVainCountsAgainstItsWay(t *testing.T) {
	stream, unary := way{"", kindStream}, way{"", kindCall}
	some := []bundle.Exchange{{Response: &bundle.Response{Status: 200}}}
	for name, tc := range map[string]struct {
		out  result
		want []way // that are open after so many
	}{
		"a stream":                  {result{expired: true, late: true, vain: []string{kindStream}}, []way{stream}},
		"it is not known what":      {result{expired: true, late: true}, []way{stream, unary}},
		"an answer was left unread": {result{unread: true}, []way{stream, unary}},
		"it ended well":             {result{}, nil},
		"it failed at once":         {result{expired: true, Iteration: bundle.Iteration{Exchanges: some}}, nil},
		"the run was interrupted":   {result{late: true, interrupted: true}, nil},
		"Assay is wrong":            {result{late: true, Iteration: bundle.Iteration{Defect: "x"}}, nil},
		"too many requests": {result{late: true, Iteration: bundle.Iteration{
			Exchanges: []bundle.Exchange{{Response: &bundle.Response{Status: http.StatusTooManyRequests}}},
		}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var b breaker
			for range opensAfter {
				b.put(&instance{ways: []way{stream, unary}}, &tc.out)
			}
			for _, w := range []way{stream, unary} {
				if got := b.isOpen(w); got != slices.Contains(tc.want, w) {
					t.Errorf("%s: open %v", w, got)
				}
			}
		})
	}
}

// What fails at once where a target answers costs no time; where nothing comes, it says nothing.
func TestWhatFailsAtOnceKeepsAWayClosedOnlyIfItIsAnswered(t *testing.T) {
	for _, answered := range []bool{false, true} {
		var b breaker
		w := way{"", kindCall}
		out := result{expired: true}
		if answered {
			out.Exchanges = []bundle.Exchange{{Response: &bundle.Response{Status: 500}}}
		}
		b.put(on(w, 1)[0], &out)
		for _, in := range on(w, opensAfter) {
			b.mark(in, false)
		}
		if b.isOpen(w) == answered {
			t.Errorf("answered %v: open %v", answered, b.isOpen(w))
		}
	}
}

func TestTheWaysOfAnInstance(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1").unprobed("process.tag")
	s := parse(t, "needs: [process.tag]\nsteps: [{start: {as: p, sh: x}}, {list: {as: l}}, {signal: {as: k, to: p, name: SIGKILL}}, {send: {as: h, surface: health}}, {send: {as: d, rpc: filesystem.Filesystem/Stat}}, {open: {as: c}}]")
	ways := newEnv(b.options).waysOf(instanceOf(s))
	var got []string
	for _, w := range ways {
		got = append(got, w.String())
	}
	for _, kind := range []string{kindStream + processService, kindEvents + processService, kindCall + processService, kindCall + "filesystem.Filesystem", kindPlain, kindBytes} {
		for _, over := range []string{"", " with protocol connect", " with codec json", " with HTTP 1.1", " with feature process.tag"} {
			if !slices.Contains(got, kind+over) {
				t.Errorf("%q is missing", kind+over)
			}
		}
	}
	if len(got) != 6*5 {
		t.Errorf("%d ways: %v", len(got), got)
	}
	x := new(transport.Exchange)
	for kind, w := range map[string]waiting{
		kindStream + processService: {what: whatEnd, handle: &handle{x: x, rpc: call.ProcessStart}}, kindEvents + processService: {what: bundle.Wait{Kind: bundle.WaitEvent, Of: "start"}, handle: &handle{x: x, rpc: call.ProcessStart}},
		kindCall + processService: {handle: &handle{x: x, rpc: call.ProcessList}}, kindPlain: {handle: &handle{x: x}}, kindSocket: {handle: &handle{x: x, socket: true}}, kindBytes: {},
	} {
		if w.kind() != kind {
			t.Errorf("%q, want %q", w.kind(), kind)
		}
	}
}

const stalls = "deadline: 150ms\nsteps: [{start: {as: p, sh: sleep}}, {await: {on: p, event: end}}]"

func TestATargetThatEndsNothingIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMiniature(t).URL)
	b.options.Run.Jobs = 1
	is := append(numbered(t, opensAfter+3, stalls), instanceOf(parse(t, "id: test.list\nsteps: [{list: {as: l}}]")))
	ran := 0
	for _, o := range b.start(is...).Observations() {
		switch skip := o.Skip; {
		case skip == nil:
			ran++
		case skip.Reason != bundle.SkipStalled || !strings.Contains(skip.Detail, "scenarios waited in vain for the end of a stream"):
			t.Errorf("%s: skip %+v", o.Scenario, skip)
		case o.Scenario == "test.list":
			t.Errorf("the call is left as well: %+v", skip)
		}
	}
	if want := opensAfter + 1 + 1; ran != want { // and the one that tries the streams again, and the call
		t.Errorf("%d ran, want %d", ran, want)
	}
}

// If as many instances are well as stall, the target as a whole is not at fault.
func TestATargetThatEndsSomeOfItsStreamsIsNotLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMiniature(t).URL)
	b.options.Run.Jobs = 1
	is := numbered(t, 4*opensAfter, "exclusive: true\n"+stalls) // in this order
	for i := range is {
		if i%2 == 1 {
			is[i] = instanceOf(parse(t, "id: test.good\nexclusive: true\nsteps: [{start: {as: p, sh: exit 0, wait: end}}]"))
		}
	}
	for i, o := range b.start(is...).Observations() {
		if o.Skip != nil {
			t.Errorf("%d: skip %+v", i, o.Skip)
		}
	}
}

// A target that paused is tried again once nothing else is left, and then runs to its end.
func TestAWayThatAnswersAgainIsUsedAgain(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	var lists atomic.Int64
	inner := gw.Config.Handler
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/List") && lists.Add(1) <= opensAfter {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the end of the connection
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	})
	b := newBench(t, gw.URL).patient()
	b.options.Run.Jobs = 1
	vain := 0
	is := append(numbered(t, opensAfter, "deadline: 150ms\nsteps: [{list: {as: send}}, {pause: 1ms}]"), numbered(t, 5, "steps: [{list: {as: send}}]")...)
	for i, o := range b.start(is...).Observations() {
		switch {
		case o.Skip != nil:
			t.Errorf("%d: skip %+v", i, o.Skip)
		case o.Iterations[0].Exchange("send").Outcome != bundle.OutcomeComplete:
			vain++
		}
	}
	if vain != opensAfter {
		t.Errorf("%d waited in vain, want %d", vain, opensAfter)
	}
}

// hanging accepts connections, and ignores each one that begins with HTTP/2.
type hanging struct{ net.Listener }

func (l *hanging) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &hangingConn{Conn: c}, nil
}

type hangingConn struct {
	net.Conn
	had bool
}

func (c *hangingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.had && bytes.HasPrefix(p[:n], []byte("PRI")) {
		for err == nil {
			_, err = c.Conn.Read(p)
		}
		return 0, err
	}
	c.had = c.had || n > 0
	return n, err
}

// unprobed returns a run whose probes got no response about those features.
func (b *bench) unprobed(features ...string) *bench {
	for _, id := range features {
		b.options.Run.Features[id] = bundle.Feature{State: bundle.FeatureUnknown}
	}
	return b
}

func over(version string, all ...scenarios.Instance) []scenarios.Instance {
	for i := range all {
		all[i].Axes.HTTP = version
	}
	return all
}

// A target that is well over HTTP/1.1 and dead over HTTP/2 is left over HTTP/2.
func TestADeadWayIsLeftWhereTheOthersAreWell(t *testing.T) {
	t.Parallel()
	const list = "\ndeadline: 300ms\nsteps: [{list: {as: send}}]"
	for _, known := range []bool{true, false} {
		gw := newMiniature(t)
		b := newBench(t, gw.URL)
		if !known {
			b.unprobed("http.h2c")
		}
		b.options.Target = targetOf(t, frontOf(t, gw, func(inner net.Listener) net.Listener { return &hanging{inner} }))
		b.options.Run.Jobs, b.options.Destructive = 1, true
		is := append(numbered(t, 2*opensAfter, "repeat: {times: 2}"+list),
			instanceOf(parse(t, "id: test.alone\nexclusive: true"+list)), instanceOf(parse(t, "id: test.dangerous\ndestructive: true"+list)))
		is = append(over(transport.H2C, is...), over(transport.HTTP1, numbered(t, opensAfter, "steps: [{list: {as: send}}]")...)...)
		ran := 0
		for _, o := range b.start(is...).Observations() {
			skip := o.Skip
			switch {
			case o.Axes.HTTP == transport.HTTP1:
				if skip != nil || o.Iterations[0].Exchange("send").Outcome != bundle.OutcomeComplete {
					t.Errorf("the other way suffers: %+v, %+v", o.Axes, skip)
				}
			case skip == nil:
				if ran++; len(o.Iterations) != 1 || !strings.Contains(o.Stopped, "one had waited in vain until its deadline") {
					t.Errorf("%d iterations, stopped %q", len(o.Iterations), o.Stopped)
				}
			case known && (skip.Reason != bundle.SkipStalled || !strings.HasSuffix(skip.Detail, "scenarios waited in vain for the response to a unary call of process.Process with HTTP h2c")),
				!known && (skip.Reason != bundle.SkipUnanswered || !strings.HasPrefix(skip.Detail, "the probe for http.h2c gave no answer, and ")):
				t.Errorf("known %v: skip %+v", known, skip)
			}
		}
		if ran != opensAfter+1 {
			t.Errorf("%d ran over HTTP/2, want %d and one more", ran, opensAfter)
		}
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

// opened opens the ways of an instance.
func opened(in *instance) {
	for range opensAfter {
		in.breaker.mark(&instance{ways: in.ways}, false)
	}
}

// What waits in the first pass ends soon, and what waits on a way that opens: the second pass gives it the rest. A script with
// a deadline of its own has it where the way is closed.
func TestTheFirstPassWaitsShort(t *testing.T) {
	const own = "deadline: 60s\n"
	for name, tc := range map[string]struct {
		deadline    string
		first, open bool
		ready       int // threads on two processors
		least, most time.Duration
	}{
		"second pass":                          {"", false, false, 0, defaultDeadline, defaultDeadline + time.Second},
		"first pass":                           {"", true, false, 0, firstPatience, firstPatience + time.Second},
		"first pass on a machine that is busy": {"", true, false, 4, 2 * firstPatience, 2*firstPatience + time.Second},
		"first pass on one that is very busy":  {"", true, false, 40, defaultDeadline, defaultDeadline + time.Second},
		"a deadline of its own":                {own, true, false, 0, time.Minute, 61 * time.Second},
		"an open way without a second pass":    {own, false, true, 0, defaultDeadline, 2*defaultDeadline + time.Second},
		"that and an open way":                 {own, true, true, 0, 5 * time.Second, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "http://127.0.0.1:1")
				in := newInstance(newEnv(b.options), instanceOf(parse(t, tc.deadline+"steps: [{start: {as: p, sh: x}}]")))
				in.first = tc.first
				for n := range 300 {
					in.machine.look(machine.Contest{Runnable: tc.ready}, time.Unix(0, 0).Add(time.Duration(n)*contendEvery), 2)
				}
				began := time.Now()
				ctx, cancel := in.newIteration(0).within(t.Context())
				defer cancel()
				if tc.open {
					testkit.Advance(5 * time.Second)
					opened(in)
				}
				<-ctx.Done()
				if took := time.Since(began); took < tc.least || took > tc.most || !errors.Is(ended(ctx), errExpired) {
					t.Errorf("ended after %v: %v", took, ended(ctx))
				}
			})
		})
	}
}

// What takes longer than usual counts as waiting in vain, so that its like is not begun.
func TestIterationsThatTakeLongerThanUsualOpenTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "http://127.0.0.1:1")
		e := newEnv(b.options)
		began := time.Now()
		var all []context.Context
		var ways []way
		for range opensAfter {
			in := newInstance(e, instanceOf(parse(t, "deadline: 60s\nsteps: [{start: {as: p, sh: x}}]")))
			ctx, cancel := in.newIteration(0).within(t.Context())
			defer cancel()
			all, ways = append(all, ctx), in.ways
		}
		for _, ctx := range all {
			<-ctx.Done()
		}
		if took := time.Since(began); took > 12*time.Second || e.breaker.open(ways) == nil {
			t.Errorf("they ended after %v; open: %+v", took, e.breaker.open(ways))
		}
	})
}

// Cleaning up after each scenario of a target that answers no kill, or no call at all, must not take its full time.
func TestACleanUpTakesLessTimeOnceOthersWereInVain(t *testing.T) {
	for _, kind := range []string{bundle.OpCleanup, kindCall + processService} {
		b := newBench(t, "http://127.0.0.1:1")
		b.options.Run.Calibration = bundle.Calibration{RTT: 1e5, Spawn: 1e6}
		e := newEnv(b.options)
		before := e.cleanupBound()
		for range opensAfter {
			e.breaker.markOwn(kind, new(instance), false)
		}
		if after := e.cleanupBound(); after >= before/2 {
			t.Errorf("%s: it takes %v, and %v before", kind, after, before)
		}
	}
}

func TestAScrapeTakesLessTimeOnceOthersWereInVain(t *testing.T) {
	scenario := instanceOf(parse(t, "steps: [{list: {as: l}}]"))
	newOf := func(b *bench) *instance { return newInstance(newEnv(b.options), scenario) }
	b := newBench(t, "http://127.0.0.1:1")
	usual := newOf(b).scrapeBound()

	one := newOf(b)
	one.unscraped.Store(true)
	if got := one.scrapeBound(); got >= usual/2 {
		t.Errorf("the second of an instance takes %v, and %v usually", got, usual)
	}
	if got := newInstance(one.env, scenario).scrapeBound(); got != usual {
		t.Errorf("that of another instance takes %v, want %v", got, usual)
	}
	for range opensAfter {
		one.breaker.markOwn(opScrape, new(instance), false)
	}
	if got := newInstance(one.env, scenario).scrapeBound(); got >= usual/2 {
		t.Errorf("after several scenarios it takes %v, and %v usually", got, usual)
	}
}
