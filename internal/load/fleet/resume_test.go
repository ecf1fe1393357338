package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// coordinatorArg makes the test's binary the coordinator of a run.
const coordinatorArg = "coordinator-of-a-test"

// coordination is what the process of a coordinator gets over its stdin.
type coordination struct {
	Bus      Bus
	Run, URL string
	Workers  int
	Duration time.Duration
}

// coordinate runs a load run, and writes a line when its first streams are merged.
func coordinate(in io.Reader, out io.Writer) error {
	var c coordination
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return err
	}
	o := mixedAt(target.Options{URL: c.URL}, &scripted{}, 100, c.Duration)
	o.Workers, o.Fleet = c.Workers, New(Options{Version: testVersion, Bus: &c.Bus, Run: c.Run, Wait: time.Minute})
	o.Progress = ticks{func(tick load.Tick) {
		if tick.Completed > 0 {
			_, _ = fmt.Fprintln(out)
		}
	}}
	_, err := load.Run(context.Background(), o)
	return err
}

// begin starts a coordinator as a process, and waits until it has merged something. The result kills it.
func (c *coordination) begin(t *testing.T) (kill func()) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], coordinatorArg) //nolint:gosec // the test itself
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(text)), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// again resumes a run.
func (c *coordination) again(ctx context.Context, t *testing.T, p load.Progress) (*bundle.LoadReport, error) {
	t.Helper()
	f := New(Options{Version: testVersion, Bus: &c.Bus, Run: c.Run, Wait: time.Minute})
	defer f.Close()
	job, memo, err := f.Recall(ctx)
	if err != nil {
		return nil, err
	}
	o, err := load.Resumed(load.Options{Engine: &scripted{}, Version: testVersion, Fleet: f, Progress: p}, *job, memo)
	if err != nil {
		return nil, err
	}
	return load.Run(ctx, o)
}

// A coordinator that is killed in mid-run leaves its workers at work: another one reads what they recorded, and waits for the
// rest, whether or not the target is still there. One that fails before that disturbs nobody.
func TestARunOutlivesItsCoordinator(t *testing.T) {
	t.Parallel()
	alone := &scripted{}
	const length = 4 * time.Second
	whole := started(t, mixed(t, alone, 100, length))
	gateway := httptest.NewServer(http.NotFoundHandler())
	defer gateway.Close()
	c := coordination{startBus(t).bus(), "outlived", gateway.URL, 2, length}
	e := &scripted{}
	var w team
	for range 2 {
		w.come(t.Context(), WorkerOptions{Bus: c.Bus, Run: c.Run, Shard: -1, Wait: time.Minute, Worker: load.Worker{Engines: []load.Engine{e}}})
	}
	c.begin(t)()
	gateway.Close()
	failed := New(Options{Version: testVersion, Bus: &c.Bus, Run: c.Run, Wait: time.Minute})
	if _, _, err := failed.Recall(t.Context()); err != nil {
		t.Error(err)
	}
	failed.Close() // as after an --out that cannot be written
	r, err := c.again(t.Context(), t, nil)
	w.Wait()
	want, broken := whole()
	if broken != nil {
		t.Fatal(broken)
	}
	if err != nil || r.Verdict != bundle.LoadPass || r.Streams.Outcomes != want.Streams.Outcomes || r.Latency != want.Latency {
		t.Errorf("%v, %.1000v", err, r)
	}
	for _, err := range w.errs {
		if err != nil {
			t.Error(err)
		}
	}
	if r, err := c.again(t.Context(), t, nil); err != nil || r.Verdict != bundle.LoadPass || r.Streams.Outcomes != want.Streams.Outcomes {
		t.Errorf("a run that has ended: %v, %.1000v", err, r)
	}
}

// A run that another coordinator ends is cut short, and its own says so.
func TestARunThatSomebodyElseEndsIsInconclusive(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	e := &scripted{}
	o := mixed(t, e, 100, time.Hour)
	o.Workers, o.Fleet, o.Thresholds = 1, New(Options{Version: testVersion, Bus: &b, Run: "shared", Wait: time.Minute}), nil
	var w team
	w.come(t.Context(), WorkerOptions{Bus: b, Run: "shared", Shard: -1, Worker: load.Worker{Engines: []load.Engine{e}}})
	begun := make(chan struct{})
	o.Progress = first(func() { close(begun) })
	w.Go(func() {
		<-begun
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c := coordination{Bus: b, Run: "shared"}
		if r, err := c.again(ctx, t, ticks{func(load.Tick) { stop() }}); err != nil || !r.Interrupted {
			t.Errorf("%v, %.500v", err, r)
		}
	})
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil || r.Verdict != bundle.LoadInconclusive || !strings.Contains(strings.Join(r.Reasons, ";"), "or by another one: the run ends") {
		t.Errorf("%v, %.1000v", err, r)
	}
}

// The attempts of a resumed run are those that began, also if others were ready before them.
func TestAResumedRunHasTheAttemptsThatBegan(t *testing.T) {
	t.Parallel()
	h := &coordinator{opts: New(Options{}).opts, workers: []workerState{{dead: 1}}, round: 1, seals: map[int]*seal{}, changed: make(chan struct{}, 1)}
	h.note(keyJoin(0, 1), []byte(`{"Host":"first"}`))
	h.note(keyReady(1, 0, 1), []byte(`{}`))
	if h.workers[0].ready != nil {
		t.Error("the attempt that was lost before the start is ready")
	}
	h.note(keyJoin(0, 2), []byte(`{"Host":"second"}`))
	h.note(keyReady(1, 0, 2), []byte(`{}`))
	if m := &h.workers[0]; m.ready == nil || m.attempt != 2 || m.joined.Host != "second" {
		t.Errorf("%+v", m)
	}
}

// What somebody else has written to the bus ends no run with a panic.
func TestStrangeKeysAreIgnored(t *testing.T) {
	t.Parallel()
	h := &coordinator{opts: New(Options{}).opts, names: names{"x"}, workers: make([]workerState, 2), round: 1, seals: map[int]*seal{}, changed: make(chan struct{}, 1)}
	for _, key := range []string{"join.9.1", "join.-1.1", "ready.1.9.1", "ready.1.-1.0", "seal.1.9", "seal.1.-1", "seal.1", "seal.1.x", "stop.1", "end", "else"} {
		for _, value := range []string{`{"Lost":"x"}`, `null`, `[`, ``} {
			h.note(key, []byte(value))
		}
	}
	if len(h.seals) > 0 || h.workers[0].joined != nil || h.workers[0].ready != nil {
		t.Errorf("%+v, %v", h.workers, h.seals)
	}
	f := &follower{crew: &crew{coordinator: h, merger: newMerger(&sum{}, []int{1, 1}), costs: map[int]cost{}}}
	for _, subject := range []string{"assay.x.res.1.9.1.1", "assay.x.res.1.-1.1.1", "assay.x.res.1", "assay.x.res.a.b.c.d"} {
		if err := f.window(stored{subject, 1, []byte(`{}`)}); err != nil {
			t.Errorf("%s: %v", subject, err)
		}
	}
	for _, c := range []card{{}, {Workers: -1, Beat: 1, Patience: 1}, {Workers: 1, Patience: 1}, {Workers: 1, Beat: 1}} {
		if !errors.Is(c.check(), errUnreadable) {
			t.Errorf("the card %+v is taken", c)
		}
	}
}

// The windows of a round of several are on the bus until it ends, and no later round reads them again.
func TestARoundForgetsItsWindows(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	o := mixed(t, &scripted{}, 100, time.Second)
	f := New(Options{Version: testVersion, Bus: &b, Run: "rounds", Wait: time.Minute, Rounds: true})
	o.Workers, o.Fleet = 1, f
	var w team
	w.come(t.Context(), WorkerOptions{Bus: b, Run: "rounds", Shard: -1, Worker: load.Worker{Engines: []load.Engine{&scripted{}}}})
	last := uint64(0)
	for range 2 {
		r, err := load.Run(t.Context(), o)
		if err != nil || r.Verdict != bundle.LoadPass {
			t.Fatalf("%v, %.500v", err, r)
		}
		var info *jetstream.StreamInfo
		if info, err = f.coordinator.stream.Info(t.Context()); err != nil || info.State.Msgs != 0 || f.coordinator.last <= last {
			t.Errorf("%v, %+v, the last was %d", err, info, f.coordinator.last)
		}
		last = f.coordinator.last
	}
	f.Close()
	w.Wait()
}
