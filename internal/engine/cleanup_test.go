package engine

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

func cleanups(it *bundle.Iteration) (n int) {
	for i := range it.Exchanges {
		if it.Exchanges[i].Op == bundle.OpCleanup {
			n++
		}
	}
	return n
}

func TestWhatAScenarioStartedIsEnded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"after the last step":                    "steps: [{start: {as: p, sh: sleep}}]",
		"after an unmet wait":                    "steps: [{start: {as: p, sh: sleep}}, {await: {on: p, event: end, within: 10ms}}]",
		"when it came by a raw request":          `steps: [{send: {as: p, wait: start, rpc: process.Process/Start, body: [{envelope: {json: {process: {cmd: x, args: [sleep]}}}}]}}]`,
		"when it was started by commands":        "steps: [{start: {as: p, via: commands, sh: sleep}}]",
		"when its stream was cut":                "steps: [{start: {as: p, sh: sleep}}, {close: {on: p, how: rst}}]",
		"when nothing waited for its start":      "steps: [{start: {as: p, sh: sleep, wait: none}}]",
		"when several of a name ran in parallel": "steps: [{parallel: [{start: {as: p, sh: sleep}}, {start: {as: q, sh: sleep}}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			gw := newMiniature(t)
			o := newBench(t, gw.URL).patient().run(script)
			if n := gw.alive(); n != 0 {
				t.Errorf("%d processes were left behind", n)
			}
			it := &o.Iterations[0]
			if len(it.Processes) == 0 || cleanups(it) == 0 {
				t.Fatalf("%d processes, %d clean-up calls", len(it.Processes), cleanups(it))
			}
			for _, p := range it.Processes {
				if p.Cleanup != cleanupKilled || p.PID == 0 {
					t.Errorf("process %+v: want it killed", p)
				}
			}
			for i, x := range it.Exchanges {
				if x.ID != i || x.Conn < 0 || x.Conn >= len(it.Conns) || it.Conns[x.Conn].ID != x.Conn {
					t.Errorf("exchange %d has id %d and connection %d of %d", i, x.ID, x.Conn, len(it.Conns))
				}
			}
		})
	}
}

func TestAProcessThatHasEndedIsLeftAlone(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - start: {as: p, sh: exit 3, wait: end}
  - start: {as: q, sh: sleep}
  - connect: {as: c, to: q}
  - close: {on: q, how: fin}
  - signal: {to: q, name: SIGKILL}
  - await: {on: c, done: true}
`)
	it := &o.Iterations[0]
	if len(it.Processes) != 2 || cleanups(it) != 0 {
		t.Fatalf("%d processes, %d clean-up calls", len(it.Processes), cleanups(it))
	}
	for _, p := range it.Processes {
		if p.Ended == nil || p.Cleanup != "" {
			t.Errorf("process %+v: its end was observed", p)
		}
	}
}

// A target that claims a thousand processes in one response must not get a thousand kills.
func TestAResponseHasFewProcessesToCleanUp(t *testing.T) {
	clock := transport.NewClock()
	x := bundle.Exchange{Name: "p", Op: "start", RPC: call.ProcessStart, Invoked: clock.Stamp()}
	for i := range uint32(1000) {
		x.Events = append(x.Events, bundle.Event{Kind: bundle.EventStart, PID: 1 + i/2, At: clock.Stamp()})
	}
	ps := (&iteration{trail: new(trail)}).processes([]bundle.Exchange{x})
	if len(ps) != maxProcesses || ps[0].PID != 1 || ps[1].PID != 2 {
		t.Errorf("%d processes: %+v", len(ps), ps)
	}
}

func TestAProcessThatIsNotOursIsNotTouched(t *testing.T) {
	gw := newMiniature(t)
	foreign := gw.spawn([]byte(`{"envs":{"ASSAY_RUN":"other/run"}}`), "sleep")
	newBench(t, gw.URL).run(`steps: [{connect: {as: c, pid: 101}}, {send: {as: lost, rpc: process.Process/Start, body: [{text: x}]}}]`)
	if gw.alive() != 1 {
		t.Error("a process of another client was ended")
	}
	gw.end(foreign.pid, 0, "")
}

// Only List decides whether a process is gone, not the response to the kill.
func TestWhatStaysListedWasNotEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		status int  // of the response to the kill, 0 for none
		ends   bool // the process ends nevertheless
		listed bool // there is a List
		want   string
	}{
		"it was killed":                        {200, true, true, cleanupKilled},
		"the kill fails, and it ends":          {500, true, true, cleanupGone},
		"the kill is not answered, it ends":    {0, true, true, cleanupGone},
		"the kill fails, and it runs on":       {500, false, true, "failed: status 500"},
		"the kill is not answered, it runs":    {0, false, true, "failed: no-answer"},
		"the kill works, and it runs on":       {200, false, true, "failed: still listed after it was killed"},
		"it is not found, and it is listed":    {404, false, true, "failed: still listed after the target reported it gone"},
		"the kill fails, and there's no List":  {500, true, false, "failed: status 500"},
		"it is not found, and there's no List": {404, true, false, cleanupGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := newMiniature(t)
			inner := gw.Config.Handler
			gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/SendSignal") {
					inner.ServeHTTP(w, r)
					return
				}
				if tc.ends {
					gw.end(101, -1, "SIGKILL")
				}
				_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the end of the connection
				if tc.status == 0 {
					<-r.Context().Done()
					return
				}
				w.WriteHeader(tc.status)
			})
			b := newBench(t, gw.URL)
			b.options.Run.Calibration.TimeScale = 4 // a clean-up has eight seconds, and most cases do not wait for them
			if tc.status == 0 && !tc.ends {
				b.options.Run.Calibration.TimeScale = 1 // all waits pass here, also those of the run's last sweep
			}
			if !tc.listed {
				b.options.Run.Features["process.list"] = bundle.Feature{State: bundle.FeatureAbsent}
			}
			o := b.run("steps: [{start: {as: p, sh: sleep}}]")
			if p := o.Iterations[0].Processes; len(p) != 1 || !strings.HasPrefix(p[0].Cleanup, tc.want) {
				t.Errorf("processes %+v, want %q", p, tc.want)
			}
		})
	}
}

// At its end the run lists processes once more and ends those with its mark, no matter
// which request started them.
func TestWhatBearsTheMarkIsEndedWithTheRun(t *testing.T) {
	gw := newMiniature(t)
	b := newBench(t, gw.URL).patient()
	b.options.OnDone = func(scenarios.Instance, *bundle.Observation) {
		gw.spawn([]byte(`{"envs":{"ASSAY_RUN":"run1/test.script"}}`), "sleep")
		gw.spawn([]byte(`{"envs":{"ASSAY_RUN":"run2/test.script"}}`), "sleep")
	}
	b.run("steps: [{list: {as: l}}]")
	if n := gw.alive(); n != 1 {
		t.Errorf("%d processes are alive, want the one of another run", n)
	}
}

func TestWhatASendStartedIsFoundByItsMark(t *testing.T) {
	gw := newMiniature(t)
	inner := gw.Config.Handler
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/Start") { // no client learns its pid
			inner.ServeHTTP(httptest.NewRecorder(), r.WithContext(overOf(r)))
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		inner.ServeHTTP(w, r)
	})
	newBench(t, gw.URL).patient().run(`steps: [{send: {as: p, rpc: process.Process/Start, message: {process: {cmd: x, args: [sleep]}}}}]`)
	if gw.started != 1 || gw.alive() != 0 {
		t.Errorf("%d were started, %d are alive", gw.started, gw.alive())
	}
}

// overOf returns an ended context for a request.
func overOf(r *http.Request) context.Context {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	return ctx
}

func TestTheListIsReadInBothCodecs(t *testing.T) {
	want := []listedProcess{{pid: 7, mark: "run1/x"}, {pid: 8}}
	packed, err := proto.Marshal(&process.ListResponse{Processes: []*process.ProcessInfo{
		{Pid: 7, Config: &process.ProcessConfig{Envs: map[string]string{call.Mark: "run1/x"}}}, {Pid: 8},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for codec, text := range map[string]string{
		call.JSON:  `{"processes":[{"pid":7,"config":{"envs":{"ASSAY_RUN":"run1/x"}},"unknown":1},{"pid":8}]}`,
		call.Proto: string(packed),
	} {
		if got, ok := readList(codec, []byte(text)); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: got %+v (%v), want %+v", codec, got, ok, want)
		}
		if _, ok := readList(codec, []byte("\x0a\x7f{")); ok {
			t.Errorf("%s: a truncated list was read", codec)
		}
	}
}

func TestAProcessWithoutAStartEventIsFoundByItsMark(t *testing.T) {
	gw := newMiniature(t)
	// The process was started by a request whose response never came.
	gw.spawn([]byte(`{"envs":{"ASSAY_RUN":"run1/test.script"}}`), "sleep")
	newBench(t, gw.URL).patient().run(`steps: [{send: {as: lost, rpc: process.Process/Start, body: [{text: x}]}}]`)
	if gw.alive() != 0 {
		t.Error("the process was left behind")
	}
}

// TestWorkAsideEndsAMomentAfterItsContext tests how long the clean-up may take.
func TestAnInterruptEndsTheRunAndCleansUp(t *testing.T) {
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	b.options.Run.Jobs = 2
	b.options.Run.Calibration.TimeScale = 12 // without the interrupt the run lasts two minutes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// An iteration starts its second process when it knows the pid of the first.
	first := instanceOf(parse(t, "repeat: {times: 3, parallel: 3}\nsteps: [{start: {as: p, sh: sleep}}, {start: {as: q, sh: exit 0, wait: end}}, {await: {on: p, done: true}}]"))
	last := instanceOf(parse(t, "id: test.last\nexclusive: true\nsteps: [{list: {as: l}}]"))
	e := Start(ctx, b.options, []scenarios.Instance{first, last})
	for range 6 {
		<-gw.spawned
	}
	began := time.Now()
	cancel()
	o := e.Wait(first)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the interrupt took %v", took)
	}
	if !o.Interrupted || len(o.Iterations) != 3 || o.Defect != "" {
		t.Errorf("interrupted %v, %d iterations, defect %q", o.Interrupted, len(o.Iterations), o.Defect)
	}
	left := 0
	for _, it := range o.Iterations {
		if p := it.Exchange("p"); p.Outcome != bundle.OutcomeAborted {
			t.Errorf("outcome %q, want aborted", p.Outcome)
		}
		for _, p := range it.Processes {
			switch {
			case strings.HasPrefix(p.Cleanup, "failed: no-"): // it has little time, whatever the machine does meanwhile
				left++
			case p.Name == "q" && p.Cleanup == cleanupGone: // it exits by itself, unobserved
			case p.Ended == nil && p.Cleanup != cleanupKilled:
				t.Errorf("process %+v: want it killed", p)
			}
		}
	}
	if n := gw.alive(); n > left {
		t.Errorf("%d processes were left behind, and %d were reported", n, left)
	}
	if s := e.Wait(last).Skip; s == nil || s.Reason != bundle.SkipInterrupted {
		t.Errorf("the instance that had not begun: skip %+v", s)
	}
	<-e.Done()
}

func TestAnInterruptEndsARunAgainstAServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 100)
	url := serve(t, func(c net.Conn) {
		streamThenSilence(c)
		started <- struct{}{}
	})
	b := newBench(t, url)
	b.options.Run.Calibration.TimeScale = 12 // without the interrupt the run lasts two minutes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	i := instanceOf(parse(t, "steps: [{start: {as: p, sh: sleep}}, {start: {as: q, sh: sleep, wait: none}}, {await: {on: p, done: true}}]"))
	e := Start(ctx, b.options, []scenarios.Instance{i})
	for range 2 { // the second starts when the pid of the first is known
		<-started
	}
	began := time.Now()
	cancel()
	o := e.Observations()[0]
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if !o.Interrupted {
		t.Error("the observation is not marked as interrupted")
	}
	if p := o.Iterations[0].Processes; len(p) == 0 || !strings.HasPrefix(p[0].Cleanup, "failed: ") {
		t.Errorf("processes: %+v", p)
	}
}
