package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/base/crash"
	"assay/internal/engine/render"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// iteration is one run of a scenario's steps, as the step sees it whose requests go to the target of
// its instance.
type iteration struct {
	in *instance
	*trail
}

// trail is what the steps of an iteration share.
type trail struct {
	index int
	rec   *transport.Recorder
	began time.Time
	limit time.Duration            // of the steps since the last progress
	vars  map[string]time.Duration // of the sweep
	// named is set once files may have the iteration's name.
	named atomic.Bool

	mu       sync.Mutex
	handles  []*handle
	byName   map[string]*handle
	attached map[int]bool // connections on which raw bytes called Connect
	paused   map[*transport.Conn]bool
	awaits   []bundle.Await
	scrapes  []bundle.Scrape
	vain     []string // the kinds of the waits that ended at their deadline
	// explained is set when an unmet wait explains why the steps stopped.
	explained bool
}

// result is a finished iteration.
type result struct {
	bundle.Iteration
	scrapes     []bundle.Scrape
	dropped     []string
	expired     bool     // its steps stopped at an unmet wait
	late        bool     // that wait took as long as a stalled stream takes
	vain        []string // the kinds of requests to which it waited in vain
	interrupted bool
	refused     bool // a connection was refused; that it could not be opened in time does not count
	unread      bool // a response was not read to its end
	lost        bool // a process may run whose pid is unknown
}

func (in *instance) newIteration(index int) *iteration {
	return &iteration{in: in, trail: &trail{
		index: index, began: time.Now(), vars: in.sweep.at(index), limit: in.deadline,
		rec:    in.target.NewRecorder(in.clock),
		byName: make(map[string]*handle), attached: make(map[int]bool), paused: make(map[*transport.Conn]bool),
	}}
}

// iterate runs the steps once within the iteration's deadline, waits for the ends that clauses
// need, and cleans up. The clean-up has its own bounds and always runs.
func (in *instance) iterate(ctx context.Context, index int) (out result) {
	if !in.spaced {
		in.pace(ctx, in.requests)
	}
	out.Index = index
	out.Started = in.clock.Stamp() // before its deadline begins
	it := in.newIteration(index)
	err := guard(func() error {
		ctx, cancel := it.within(ctx)
		defer cancel()
		if err := it.steps(ctx, in.s.Steps); err != nil {
			return err
		}
		return it.awaitEnds(ctx)
	})
	out.interrupted = errors.Is(err, errInterrupted)
	out.expired = errors.Is(err, errExpired)
	took := time.Duration(in.clock.Stamp().T - out.Started.T)
	out.late = out.expired && took >= min(it.limit, leastPatience)
	out.vain = it.vain
	if err != nil && !out.interrupted && !out.expired {
		out.Defect = err.Error()
	}
	err = guard(func() error { it.conclude(ctx, &out); return nil })
	if err != nil && out.Defect == "" {
		out.Defect = err.Error()
	}
	out.Ended = in.clock.Stamp()
	return out
}

// conclude ends the exchanges under way, collects the record, and cleans up.
func (it *iteration) conclude(ctx context.Context, out *result) {
	if out.expired {
		it.resume(ctx)
	}
	it.abandon(ctx, out)
	it.hideSandboxes()
	out.Conns, out.Exchanges = it.rec.Finish(it.in.wanted)
	out.dropped = it.rec.Dropped()
	it.renameUnasked(out.Exchanges)
	for i := range out.Exchanges {
		out.unread = out.unread || out.Exchanges[i].Unread != ""
		if note := trim(&out.Exchanges[i]); note != "" {
			out.dropped = append(out.dropped, note)
		}
	}
	out.Processes = it.processes(out.Exchanges)
	out.lost = startLost(out.Exchanges)
	for i := range out.Conns {
		c := &out.Conns[i]
		out.refused = out.refused || c.DialError != "" && !c.DialTimeout
	}
	it.cleanup(ctx, &out.Iteration)
	it.removeFiles(ctx, &out.Iteration)
	it.deleteSandboxes(ctx, &out.Iteration)
	it.mu.Lock()
	defer it.mu.Unlock()
	out.Awaits = it.awaits
	out.scrapes = it.scrapes
	out.Vars = it.variables(out.Exchanges)
}

// unasked is appended to the name of an answer that came on an exchange's own
// connection before the request, to distinguish it from the exchange's answer.
const unasked = " (unasked)"

// renameUnasked renames answers without a request, except on connections of open steps.
func (it *iteration) renameUnasked(exchanges []bundle.Exchange) {
	opened := make(map[int]bool)
	for _, h := range it.all() {
		if h.x == nil && h.conn != nil {
			opened[h.conn.ID()] = true
		}
	}
	for i := range exchanges {
		if x := &exchanges[i]; x.Op == bundle.OpRaw && x.Conn >= 0 && !opened[x.Conn] && x.Response != nil {
			x.Name += unasked
		}
	}
}

// variables returns the values of the iteration's variables.
func (it *iteration) variables(exchanges []bundle.Exchange) map[string]string {
	vars := make(map[string]string)
	for name, d := range it.vars {
		vars[name] = strconv.FormatInt(int64(d), 10)
	}
	for i := range exchanges {
		if pid := pidOf(&exchanges[i]); pid != 0 && exchanges[i].Name != "" {
			vars[exchanges[i].Name+".pid"] = strconv.FormatUint(uint64(pid), 10)
		}
	}
	for _, h := range it.handles {
		if h.tag != "" {
			vars[h.name+".tag"] = h.tag
		}
		if h.pid != 0 {
			vars[h.name+".pid"] = strconv.FormatUint(uint64(h.pid), 10)
		}
	}
	it.keepCaptured(vars)
	if len(vars) == 0 {
		return nil
	}
	return vars
}

// steps runs steps one after another and stops at the first that fails.
func (it *iteration) steps(ctx context.Context, steps []scenarios.Step) error {
	for i := range steps {
		if err := it.step(ctx, &steps[i], ""); err != nil {
			return err
		}
	}
	return nil
}

// step runs one step to its end. as names its exchange where the script does not.
func (it *iteration) step(ctx context.Context, st *scenarios.Step, as string) error {
	ctx = withStep(ctx, st.At)
	if _, calls := st.Call(); calls && it.in.spaced {
		it.in.pace(ctx, 1)
	}
	began := it.in.clock.Stamp()
	err := it.poll(ctx, st)
	var a action
	if err == nil {
		a, err = it.prepare(ctx, st, as)
	}
	if err == nil {
		err = a.run(ctx)
	}
	if errors.Is(err, errExpired) && !errors.Is(err, errUnconnected) {
		it.explain(st, began)
	}
	return inStep(st, err)
}

// render returns what renders the steps of the iteration.
func (it *iteration) render() render.Renderer {
	r, a := it.in.render(), it.in.axes
	r.Place = fmt.Sprintf("%s-%s-%s/%s", a.Protocol, a.Codec, a.HTTP, it.number())
	return r
}

// explain records that the iteration's deadline cut a step, unless an unmet wait
// already explains the stop. A request that the target did not read completely by then
// has no answer.
func (it *iteration) explain(st *scenarios.Step, began bundle.Stamp) {
	for _, h := range it.all() {
		if h.x != nil && !returned(h.x) && h.x.Snapshot().Step == st.At {
			it.blame(&waiting{handle: h})
		}
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.explained {
		return
	}
	it.awaits = append(it.awaits, bundle.Await{
		Step: st.At, On: "the iteration", What: bundle.Wait{Kind: bundle.WaitTime}, Began: began, Ended: it.in.clock.Stamp(),
		Deadline: int64(it.limit),
	})
}

// action is a prepared step: fire performs it, and wait waits for its answer.
// Everything that takes time (resolving variables, rendering bytes, opening a
// connection) is done beforehand, so that only the bytes themselves race.
type action struct {
	fire func(context.Context) error
	wait func(context.Context) error // may be nil
}

func (a action) run(ctx context.Context) error {
	if err := a.fire(ctx); err != nil || a.wait == nil {
		return err
	}
	return a.wait(ctx)
}

// prepare turns a step into an action.
func (it *iteration) prepare(ctx context.Context, st *scenarios.Step, as string) (action, error) {
	it, err := it.aimed(ctx, st)
	if err != nil {
		return action{}, err
	}
	if st, err = it.resolve(ctx, st); err != nil {
		return action{}, err
	}
	if p, ok := it.render().Plan(st); ok {
		return it.prepareCall(ctx, st, as, p)
	}
	if _, t := st.Socket(); t != nil {
		return it.prepareSocket(st, t)
	}
	switch {
	case st.Open != nil:
		return it.prepareOpen(st.Open)
	case st.Write != nil:
		return it.prepareWrite(st)
	case st.Await != nil:
		return fires(func(ctx context.Context) error { return it.await(ctx, st.Await) })
	case st.Close != nil:
		return it.prepareClose(st.Close)
	case st.Read != nil:
		return it.prepareRead(st.Read)
	case st.Scrape != nil:
		return fires(func(ctx context.Context) error { return it.scrapeStep(ctx, st.Scrape) })
	case st.Pause != nil:
		return fires(func(ctx context.Context) error { return sleep(ctx, st.Pause.Resolve(it.in.cal)) })
	case st.Parallel != nil:
		return fires(func(ctx context.Context) error { return it.parallel(ctx, st.Parallel) })
	case st.Race != nil:
		return fires(func(ctx context.Context) error { return it.race(ctx, st.Race) })
	}
	return action{}, errors.New("the step is empty")
}

func fires(f func(context.Context) error) (action, error) { return action{fire: f}, nil }

// parallel runs steps in parallel and waits for all of them.
func (it *iteration) parallel(ctx context.Context, steps []scenarios.Step) error {
	errs := make([]error, len(steps))
	var all crash.Group
	for i := range steps {
		all.Go(func() {
			errs[i] = guard(func() error { return it.step(ctx, &steps[i], "") })
		})
	}
	all.Wait()
	return worst(errs...)
}

// worst returns the most severe of several errors: a defect, then an interrupt, then an
// unmet wait.
func worst(errs ...error) error {
	var expired, interrupted error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, errInterrupted):
			interrupted = err
		case errors.Is(err, errExpired):
			expired = err
		default:
			return err
		}
	}
	if interrupted != nil {
		return interrupted
	}
	return expired
}

// guard converts a panic into an error: a defect of Assay must not end the run.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, stack())
		}
	}()
	return f()
}

// stack returns the part of the stack where a panic came from, without the frames of the recovery.
func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	const skip, keep = 9, 24
	return strings.Join(lines[min(skip, len(lines)):min(skip+keep, len(lines))], "\n")
}

// stepError is a defect and its place in the script.
type stepError struct {
	at  string
	err error
}

func (e *stepError) Error() string { return e.at + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// inStep adds the place to a defect without one.
func inStep(st *scenarios.Step, err error) error {
	var placed *stepError
	if err == nil || errors.Is(err, errExpired) || errors.Is(err, errInterrupted) || errors.As(err, &placed) {
		return err
	}
	return &stepError{at: st.At, err: err}
}

// stepKey is the context key for the place of the running step.
type stepKey struct{}

func withStep(ctx context.Context, at string) context.Context {
	return context.WithValue(ctx, stepKey{}, at)
}

func stepOf(ctx context.Context) string {
	at, _ := ctx.Value(stepKey{}).(string)
	return at
}
