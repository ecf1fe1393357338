package engine

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// A command does not end, because the signal for it did not reach the gateway: the scenario runs again, and not after an hour.
func TestAnIterationIsNotWaitedForThatDidNotReachTheGateway(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	inner := gw.Config.Handler
	var signals atomic.Int32
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/SendSignal") && signals.Add(1) == 1 {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		inner.ServeHTTP(w, r)
	})
	b := newBench(t, gw.URL)
	ended := func(o *bundle.Observation) bool {
		p := o.Iterations[0].Exchange("p")
		return len(p.Events) > 0 && p.Events[len(p.Events)-1].Exit != nil
	}
	b.options.Doubtful = func(_ scenarios.Instance, o *bundle.Observation) bool { return !ended(o) }
	o := b.run(`
deadline: 1h
steps:
  - start: {as: p, sh: sleep}
  - signal: {to: p, name: SIGKILL}
  - await: {on: p, event: end}
`)
	if !ended(o) || o.Refused != nil {
		t.Errorf("%+v, refused %+v", o.Iterations[0].Exchange("p"), o.Refused)
	}
}

// A page is what this gateway answers to that request: that the scenario was doubtful for another reason, and is not the
// second time, does not make it the answer of something in front.
func TestAnAnswerThatStaysTheSameIsTheGateways(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers []int // to each SendSignal; the last is that of all others
		want    bundle.Refused
	}{
		"a page, always":   {[]int{400}, bundle.Refused{}},
		"a page, once":     {[]int{400, 200}, bundle.Refused{Requests: 1, Settled: 1, Answers: []string{"400 text/html"}}},
		"another one once": {[]int{502, 400}, bundle.Refused{Requests: 1, Settled: 1, Answers: []string{"502 text/html"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := newMiniature(t)
			inner := gw.Config.Handler
			var signals atomic.Int32
			gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/SendSignal") {
					inner.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(tc.answers[min(int(signals.Add(1)), len(tc.answers))-1])
			})
			b := newBench(t, gw.URL)
			var looks atomic.Int32
			b.options.Doubtful = func(scenarios.Instance, *bundle.Observation) bool { return looks.Add(1) == 1 }
			e := b.start(instanceOf(parse(t, "steps: [{signal: {as: send, pid: 99, name: SIGTERM}}]")))
			run := bundle.Run{}
			e.Into(&run)
			got := bundle.Refused{}
			if run.Admission != nil {
				got = run.Admission.Front
			}
			got.First, got.Last = bundle.Stamp{}, bundle.Stamp{}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A target that refuses every call is not asked four times for each, but once, and for a plain call. No pace slows down what it
// refuses anyway.
func TestATargetThatRefusesEverythingIsAskedOnceEach(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	var calls atomic.Int32
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
	})
	b := newBench(t, gw.URL)
	b.options.Run.Jobs = 1
	b.options.Doubtful = func(scenarios.Instance, *bundle.Observation) bool { return true }
	const first, after = 4, 20 // and at the end the engine looks for what it left
	var all []scenarios.Instance
	for n := range first + after {
		path := strings.Repeat("x", n+1)
		all = append(all, instanceOf(parse(t, "id: test."+path+"\nsteps: [{send: {as: send, surface: commands, path: /"+path+"}}]")))
	}
	b.start(all...).Observations()
	if n, most := calls.Load(), int32(2*first*(mostTurns+1)+2*after+1); n > most || !b.options.Target.Pace().Lifted() {
		t.Errorf("%d calls, want %d at most; lifted: %v", n, most, b.options.Target.Pace().Lifted())
	}
}

// A refusal breaks a rule only if it is the answer to the call.
func TestARefusalIsExcusedUnlessItIsTheAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status        int
		before, other bool // List was answered before the scenarios, and it is now
		want          bool
	}{
		"too many, List never answered":          {status: 429, want: true},
		"too many, List answered":                {status: 429, other: true, want: true},
		"unavailable, List never answered":       {status: 503},
		"unavailable, List answered only before": {status: 503, before: true, want: true},
		"unavailable, List answered":             {status: 503, before: true, other: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := newMiniature(t)
			inner := gw.Config.Handler
			gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.other && strings.HasSuffix(r.URL.Path, "/List") {
					inner.ServeHTTP(w, r)
					return
				}
				w.WriteHeader(tc.status)
			})
			b := newBench(t, gw.URL)
			if tc.before {
				path := b.options.Target.Path("process", "/process.Process/List")
				b.options.Target.Pace().Admitted(&bundle.Exchange{Request: bundle.Request{Method: http.MethodPost, Path: path}})
			}
			b.options.Doubtful = func(_ scenarios.Instance, o *bundle.Observation) bool { return true }
			o := b.run("steps: [{signal: {as: send, pid: 99, name: SIGTERM}}]")
			if o.Refused == nil || o.Refused.Excused != tc.want {
				t.Errorf("refused %+v, want excused %v", o.Refused, tc.want)
			}
		})
	}
}

// What is refused when the run is interrupted may have been answered the next time.
func TestARefusalIsExcusedWhereTheRunIsInterrupted(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	inner := gw.Config.Handler
	ctx, cancel := context.WithCancel(t.Context())
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/SendSignal") {
			inner.ServeHTTP(w, r)
			return
		}
		defer cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	b := newBench(t, gw.URL)
	b.options.Doubtful = func(scenarios.Instance, *bundle.Observation) bool { return true }
	e := Start(ctx, b.options, []scenarios.Instance{instanceOf(parse(t, "steps: [{signal: {as: send, pid: 99, name: SIGTERM}}, {await: {on: send, done: true}}]"))})
	for _, o := range e.Observations() {
		refused := len(o.Iterations) > 0 && slices.ContainsFunc(o.Iterations[0].Exchanges, func(x bundle.Exchange) bool { return x.Refusal() != "" })
		if refused && (o.Refused == nil || !o.Refused.Excused) {
			t.Errorf("refused %+v, interrupted %v", o.Refused, o.Interrupted)
		}
	}
}

// A call that two instances repeated in vain is not repeated any more, unless it was lost on the way to a gateway that answers it.
func TestWhatIsLostOnTheWayIsAlwaysSentAgain(t *testing.T) {
	t.Parallel()
	refused := func(path string, status int) *bundle.Exchange {
		return &bundle.Exchange{
			Request:  bundle.Request{Method: "POST", Path: path},
			Response: &bundle.Response{Status: status, Headers: []bundle.Header{{Name: "Content-Type", Value: "text/html"}}},
		}
	}
	a := &admission{pace: newBench(t, "http://127.0.0.1:1").options.Target.Pace(), vain: map[string]int{}}
	a.pace.Admitted(&bundle.Exchange{Request: bundle.Request{Method: "POST", Path: "/answered"}})
	for _, tt := range []struct {
		x    *bundle.Exchange
		want bool
	}{
		{refused("/answered", 502), false},
		{refused("/never", 502), true},
		{refused("/answered", 400), true}, // a page of the gateway
		{refused("/answered", 429), true},
	} {
		for n := range 2 * fruitless {
			if got, want := a.hopeless(refusals{tt.x}), tt.want && n >= fruitless; got != want {
				t.Errorf("%s with %d, after %d in vain: %v, want %v", tt.x.Request.Path, tt.x.Response.Status, n, got, want)
			}
			a.unanswered(tt.x.Refusal(), nil, refusals{tt.x})
		}
		clear(a.vain)
	}
}
