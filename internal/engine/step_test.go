package engine

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestAnAwaitIsMetOrStopsTheSteps(t *testing.T) {
	const hello = `{start: {as: p, sh: echo hello, wait: none}}`
	const sleeper = `{start: {as: p, sh: sleep}}`
	for name, tc := range map[string]struct {
		before, await, what string
		met                 bool
	}{
		"an event that comes":          {hello, `{on: p, event: end}`, "event end", true},
		"an event that never comes":    {sleeper, `{on: p, event: end, within: 50ms}`, "event end", false},
		"an event after the answer":    {hello, `{on: p, event: keepalive}`, "event keepalive", false},
		"output that comes":            {hello, `{on: p, output: llo}`, `output "llo"`, true},
		"output that never comes":      {hello, `{on: p, output: bye}`, `output "bye"`, false},
		"a head":                       {sleeper, `{on: p, status: true}`, "head", true},
		"frames that come":             {hello, `{on: p, frames: 4}`, "frames 4", true},
		"frames that never come":       {sleeper, `{on: p, frames: 2, within: 50ms}`, "frames 2", false},
		"bytes":                        {sleeper, `{on: p, bytes: 20}`, "bytes 20", true},
		"bytes that never come":        {sleeper, `{on: p, bytes: 100000, within: 50ms}`, "bytes 100000", false},
		"the end of an answer":         {hello, `{on: p, done: true}`, "done", true},
		"no end of an answer":          {sleeper, `{on: p, done: true, within: 50ms}`, "done", false},
		"an answer without progress":   {sleeper, `{on: p, done: true, idle: 50ms, within: 10m}`, "done", false},
		"silence":                      {sleeper, `{on: p, silence: 30ms}`, "silence 30ms", true},
		"silence longer than the time": {sleeper, `{on: p, silence: 1s, within: 50ms}`, "silence 1s", false},
		"a connection that stays open": {sleeper, `{on: p, closed: true, within: 50ms}`, "closed", false},
		"an answer to raw bytes": {
			`{open: {as: p}}, {write: {to: p, shape: plain, of: [{text: "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"}]}}`,
			`{on: p, status: true}`, "head", true,
		},
		"a close by the peer": {
			`{open: {as: p}}, {write: {to: p, of: [{text: "nonsense\r\n\r\n"}]}}`,
			`{on: p, closed: true}`, "closed", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := newMiniature(t)
			o := newBench(t, gw.URL).run("steps: [" + tc.before + ", {await: " + tc.await + "}, {list: {as: l}}]\nexpect: {l: ok}")
			it := &o.Iterations[0]
			if len(it.Awaits) != 1 {
				t.Fatalf("awaits: %+v", it.Awaits)
			}
			a := it.Awaits[0]
			if a.Met != tc.met || a.What.String() != tc.what || a.On != "p" || !strings.HasPrefix(a.Step, "steps[") {
				t.Errorf("await %+v, want %q met: %v", a, tc.what, tc.met)
			}
			if a.Deadline <= 0 || !a.Began.Before(a.Ended) {
				t.Errorf("await %+v: want a deadline and times in order", a)
			}
			if went := it.Exchange("l") != nil; went != tc.met {
				t.Errorf("the next step ran: %v", went)
			}
		})
	}
}

func TestTheStepsGoOnBehindAnOptionalWaitInVain(t *testing.T) {
	t.Parallel()
	for name, await := range map[string]string{
		"for an event":           "{on: p, event: end, within: 30ms, optional: true}",
		"for a silence":          "{on: p, silence: 1h, within: 30ms, optional: true}",
		"that comes late":        "{on: q, event: keepalive, optional: true}",
		"for an event that came": "{on: p, event: start, optional: true}",
	} {
		t.Run(name, func(t *testing.T) {
			o := newBench(t, newMiniature(t).URL).patient().run("steps: [{start: {as: p, sh: sleep}}, {start: {as: q, sh: exit 0}}, {await: " + await + "}, {list: {as: l}}]\nexpect: {l: ok}")
			it := &o.Iterations[0]
			if len(it.Awaits) != 1 || it.Awaits[0].Met != strings.Contains(await, "start") || it.Exchange("l") == nil {
				t.Errorf("awaits %+v, list %v", it.Awaits, it.Exchange("l"))
			}
			if p := it.Exchange("p"); p.Outcome != bundle.OutcomeAborted {
				t.Errorf("outcome %q: no step requested its end", p.Outcome)
			}
		})
	}
}

// The unmet wait that stops the steps is recorded even after an optional one.
func TestAnOptionalWaitDoesNotOutlastItsIteration(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	for _, rest := range []string{"{list: {as: l}}", "{pause: 10m}"} {
		o := longer(50*time.Millisecond, func(d time.Duration) *bundle.Observation {
			within := ""
			if strings.Contains(rest, "pause") {
				within = "within: 5ms, "
			}
			return newBench(t, gw.URL).run("deadline: " + d.String() + "\nsteps: [{start: {as: p, sh: sleep}}, {await: {on: p, done: true, " + within + "optional: true}}, " + rest + "]")
		}, func(o *bundle.Observation) bool {
			return len(o.Iterations[0].Awaits) > 0 && o.Iterations[0].Awaits[0].What.Kind == bundle.WaitDone
		})
		it := &o.Iterations[0]
		if n := len(it.Awaits); n != 2 || it.Awaits[1].On != "the iteration" || it.Exchange("l") != nil {
			t.Errorf("%s: awaits %+v, list %v", rest, it.Awaits, it.Exchange("l"))
		}
	}
}

func TestADeadlineHasRoomForTheCommandsOfTheSteps(t *testing.T) {
	const six = "{start: {as: a, sh: x}}, {parallel: [{start: {as: b, sh: x}}, {start: {as: c, sh: x}}]}, " +
		"{race: {a: {start: {as: d, sh: x}}, b: {list: {as: l}}}}, {start: {as: e, sh: x}}, {start: {as: f, sh: x}}, " +
		"{send: {as: g, rpc: process.Process/Start, message: {}}}"
	for name, tc := range map[string]struct {
		script string
		end    time.Duration
		least  time.Duration
		most   time.Duration
	}{
		"a login shell of three seconds": {"steps: [" + six + "]", 3 * time.Second, 10*time.Second + 6*3*time.Second, time.Minute},
		"and a deadline of its own":      {"deadline: 1s\nsteps: [" + six + "]", 3 * time.Second, 19 * time.Second, 40 * time.Second},
		"a quick shell":                  {"steps: [" + six + "]", time.Millisecond, 10 * time.Second, 10*time.Second + 50*time.Millisecond},
		"no command":                     {"steps: [{list: {as: l}}]", time.Millisecond, 10 * time.Second, 10*time.Second + 5*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "http://127.0.0.1:1")
			b.options.Run.Calibration.End = int64(tc.end)
			in := newInstance(newEnv(b.options), instanceOf(parse(t, tc.script+"\nexpect: {l: ok}")))
			if in.deadline < tc.least || in.deadline > tc.most {
				t.Errorf("it has %v, want %v to %v", in.deadline, tc.least, tc.most)
			}
			if got := in.usual(); strings.Contains(name, "login") && got < 6*3*time.Second {
				t.Errorf("on a way that is open it has %v", got)
			}
		})
	}
}

func TestASendWaitsForWhatItSays(t *testing.T) {
	t.Parallel()
	const sleep = `rpc: process.Process/Start, body: [{envelope: {json: {process: {cmd: x, args: [sleep]}}}}]`
	for name, tc := range map[string]struct {
		wait    string
		expired bool
	}{
		"the head":             {"wait: head", false},
		"the start event":      {"wait: start", false},
		"nothing":              {"wait: none", false},
		"the end, in its time": {"within: 6ms", true},
	} {
		t.Run(name, func(t *testing.T) {
			gw := newMiniature(t)
			o := newBench(t, gw.URL).patient().run("steps: [{send: {as: p, " + sleep + ", " + tc.wait + "}}, {list: {as: l}}]\nexpect: {l: ok}")
			it := &o.Iterations[0]
			if expired := it.Exchange("l") == nil; expired != tc.expired {
				t.Errorf("expired: %v", expired)
			}
			p, want := it.Exchange("p"), bundle.OutcomeAborted
			switch {
			case tc.expired && p.Response == nil:
				want = bundle.OutcomeNoAnswer // on a machine slower than the limit
			case tc.expired:
				want = bundle.OutcomeStalled
			}
			if p.Outcome != want {
				t.Errorf("outcome %q, want %q", p.Outcome, want)
			}
			if gw.alive() != 0 {
				t.Error("the process was left behind")
			}
		})
	}
}

func TestAClosedConnectionIsTheScriptsDoing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"fin", "rst", "silent"} {
		t.Run(how, func(t *testing.T) {
			gw := newMiniature(t)
			o := newBench(t, gw.URL).run("steps: [{start: {as: p, sh: sleep}}, {close: {on: p, how: " + how + "}}, {list: {as: l}}]\nexpect: {l: ok}")
			it := &o.Iterations[0]
			p := it.Exchange("p")
			if !p.Aborted || p.Outcome != bundle.OutcomeAborted {
				t.Errorf("aborted %v, outcome %q", p.Aborted, p.Outcome)
			}
			if end := it.Conns[p.Conn].Ended; end == nil || end.By != "us" || end.How != how {
				t.Errorf("the connection ended as %+v", end)
			}
		})
	}
}

func TestReadingIsSteered(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - start: {as: p, sh: read x}
  - read: {on: p, mode: pause}
  - input: {to: p, data: "\n"}
  - await: {on: p, silence: 50ms}
  - list: {as: l}
  - read: {on: p, mode: resume}
  - read: {on: p, rate: 1000000}
  - await: {on: p, done: true}
`)
	it := &o.Iterations[0]
	l, p := it.Exchange("l"), it.Exchange("p")
	if l == nil || p.Outcome != bundle.OutcomeComplete {
		t.Fatalf("list %v, outcome %q", l, p.Outcome)
	}
	for _, e := range p.Events {
		if e.Kind == bundle.EventEnd && e.At.Before(l.Invoked) {
			t.Error("the end was read while reading was paused")
		}
	}
}

// What was paused when the steps stopped can end by itself; what the script stopped
// cannot.
func TestWhatWasPausedIsReadToItsEndBehindAWaitInVain(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bundle.Outcome{"pause": bundle.OutcomeComplete, "stop": bundle.OutcomeStalled} {
		t.Run(mode, func(t *testing.T) {
			o := newBench(t, newMiniature(t).URL).patient().run(`
steps:
  - start: {as: p, sh: read x}
  - start: {as: q, sh: sleep}
  - read: {on: p, mode: ` + mode + `}
  - input: {to: p, data: "\n"}
  - await: {on: p, done: true, within: 5ms}
`)
			it := &o.Iterations[0]
			p, q := it.Exchange("p"), it.Exchange("q")
			if p.Outcome != want || hasEvent(p, bundle.EventEnd) != (mode == "pause") {
				t.Errorf("outcome %q (%s)", p.Outcome, p.Detail)
			}
			if a := it.Awaits; len(a) != 1 || a[0].Met || q.Outcome != bundle.OutcomeAborted {
				t.Errorf("awaits %+v, the other one is %q", a, q.Outcome)
			}
		})
	}
}

func TestVariablesOfOtherStepsStandInRequests(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - start: {as: p, sh: sleep, tag: "t-${run}-${iteration}"}
  - send: {as: s, surface: commands, path: "/${p.pid}/log", headers: {X-Tag: "${p.tag}"}}
  - send: {as: k, rpc: process.Process/SendSignal, message: {process: {pid: "${p.pid}"}, signal: SIGNAL_SIGKILL}}
`)
	it := &o.Iterations[0]
	s, k := it.Exchange("s"), it.Exchange("k")
	if s.Request.Path != "/commands/101/log" || (&bundle.Response{Headers: s.Request.Headers}).Get("x-tag")[0] != "t-run1-0" {
		t.Errorf("path %s, headers %v", s.Request.Path, s.Request.Headers)
	}
	if got := string(k.Request.Body.Data); got != `{"process":{"pid":101},"signal":"SIGNAL_SIGKILL"}` {
		t.Errorf("message %s", got)
	}
	if it.Vars["p.tag"] != "t-run1-0" || it.Vars["p.pid"] != "101" {
		t.Errorf("vars %v", it.Vars)
	}
}

func TestAnEndThatAClauseSpeaksOfIsWaitedFor(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - start: {as: p, sh: read x}
  - parallel: [{list: {as: l}}, {race: {offset: 60ms, a: {pause: 1ms}, b: {input: {as: i, to: p, data: x}}}}]
expect: {p: {end: {code: 0}}}
`)
	if p := o.Iterations[0].Exchange("p"); p.Outcome != bundle.OutcomeComplete {
		t.Errorf("outcome %q", p.Outcome)
	}
	o = longer(200*time.Millisecond, func(d time.Duration) *bundle.Observation {
		return newBench(t, gw.URL).run("deadline: " + d.String() + "\nsteps: [{start: {as: p, sh: sleep}}]\nexpect: {p: {end: {code: 0}}}")
	}, func(o *bundle.Observation) bool {
		p := o.Iterations[0].Exchange("p")
		return p != nil && hasEvent(p, bundle.EventStart)
	})
	it := &o.Iterations[0]
	if p := it.Exchange("p"); p.Outcome != bundle.OutcomeStalled || len(it.Awaits) != 1 || it.Awaits[0].Step != "end" {
		t.Errorf("outcome %q, awaits %+v", p.Outcome, it.Awaits)
	}
}

func TestTheFirstDifferenceFromWhatIsExpectedIsKept(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run("steps: [{start: {as: p, sh: echo hallo, wait: end}}]\nexpect: {p: {stdout: \"hello\\n\"}}")
	d := o.Iterations[0].Exchange("p").Outputs["stdout"].Diff
	if d == nil || d.Off != 1 || string(d.Want) != "hello\n" {
		t.Errorf("difference %+v", d)
	}
}

func TestTheIterationsDeadlineCutsAPauseAndSaysSo(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	o := longer(50*time.Millisecond, func(d time.Duration) *bundle.Observation {
		return newBench(t, gw.URL).run("deadline: " + d.String() + "\nsteps: [{list: {as: l}}, {pause: 10m}]")
	}, func(o *bundle.Observation) bool {
		l := o.Iterations[0].Exchange("l")
		return l != nil && l.Outcome == bundle.OutcomeComplete
	})
	a := o.Iterations[0].Awaits
	if len(a) != 1 || a[0].Step != "steps[1]" || a[0].Met {
		t.Errorf("awaits %+v", a)
	}
}

func TestIterationsThatExpireEndTheRepeating(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run("repeat: {times: 50}\nsteps: [{start: {as: p, sh: sleep}}, {await: {on: p, event: end, within: 30ms}}]")
	if len(o.Iterations) != maxExpired || !strings.HasPrefix(o.Stopped, "3 of 50 iterations were run") {
		t.Errorf("%d iterations, stopped %q", len(o.Iterations), o.Stopped)
	}
}

func TestTheCountersAreReadBeforeAndAtRest(t *testing.T) {
	gw := newMiniature(t)
	gw.spawn([]byte(`{}`), "sleep") // of another client
	o := newBench(t, gw.URL).patient().run(`
exclusive: true
needs: [metrics.prometheus]
steps:
  - start: {as: p, sh: sleep}
  - scrape: {as: between}
expect: {metrics: {started: +1, killed: +1, active: +0}}
`)
	var got []string
	for _, s := range o.Scrapes {
		got = append(got, s.Name)
		if s.Status != 200 || s.Err != "" || !strings.HasPrefix(s.Type, "text/plain") || !s.Sent.Before(s.Received) {
			t.Errorf("scrape %s: %+v", s.Name, s)
		}
	}
	if strings.Join(got, " ") != "before between after" || o.Scrapes[1].Iteration != 0 {
		t.Fatalf("scrapes %v", got)
	}
	for i, want := range []string{"t_active 1", "t_active 2", "t_active 1"} {
		if !strings.Contains(string(o.Scrapes[i].Body), want) {
			t.Errorf("scrape %s does not say %s", o.Scrapes[i].Name, want)
		}
	}
	if n := len(o.Iterations[0].Conns); n != len(o.Iterations[0].Exchanges) {
		t.Errorf("%d connections for %d exchanges: a scrape is not part of an iteration", n, len(o.Iterations[0].Exchanges))
	}
}

func TestAGaugeThatStaysWrongIsWaitedForWithinABound(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	in := newInstance(newEnv(b.options), instanceOf(parse(t, "steps: [{list: {as: l}}]")))
	before := in.scrape(t.Context(), "before", around)
	gw.spawn([]byte(`{}`), "sleep")
	began := time.Now()
	after := in.scrapeAtRest(t.Context(), before)
	if took := time.Since(began); took < in.restBound() || took > in.restBound()+30*time.Second {
		t.Errorf("it took %v, the bound is %v", took, in.restBound())
	}
	if !strings.Contains(string(after.Body), "t_active 1") {
		t.Errorf("the last scrape is %s", after.Body)
	}
}

func TestEachKindOfStepIsKnown(t *testing.T) {
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	it := &iteration{in: newInstance(newEnv(b.options), instanceOf(parse(t, "steps: [{list: {as: l}}]"))), trail: &trail{byName: map[string]*handle{}}}
	if _, err := it.prepare(t.Context(), &scenarios.Step{}, ""); err == nil {
		t.Error("an empty step is not an error")
	}
}
