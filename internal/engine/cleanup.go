package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/engine/render"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
)

const (
	// afterInterrupt bounds a clean-up after an interrupt or the end of the budget.
	afterInterrupt = time.Second
	// afterAll bounds all of them together: with the time to end the exchanges and to judge,
	// the run ends within two seconds.
	afterAll = 1300 * time.Millisecond
)

// Results of the clean-up of a process.
const (
	cleanupKilled = "killed"
	cleanupGone   = "gone"
	cleanupFailed = "failed: " // followed by the reason
)

// mayStart reports whether an exchange asked for a new process.
func mayStart(x *bundle.Exchange) bool {
	switch {
	case x.Op == bundle.OpRaw:
		return x.Shape == bundle.ShapeStream || x.Shape == bundle.ShapeNDJSON
	case x.RPC == call.ProcessStart:
		return true
	}
	return x.Surface == surface.Commands && x.Shape == bundle.ShapeNDJSON
}

// maxProcesses is the number of processes of one exchange that the clean-up takes for real: a
// Start has one, and raw bytes of a script start a few.
const maxProcesses = 16

// processes returns the processes that the exchanges started, and when any stream
// showed their end. A process that an exchange only connected to is not ours.
func (it *iteration) processes(exchanges []bundle.Exchange) []bundle.Process {
	var ps []bundle.Process
	for i := range exchanges {
		x := &exchanges[i]
		if pid := it.foundPID(x.Name); pid != 0 && x.Switched() {
			ps = append(ps, bundle.Process{Name: x.Name, PID: pid, Started: x.Response.Head, Ended: endedAt(x)})
			continue
		}
		if !mayStart(x) || it.sawConnect(x) {
			continue
		}
		pids := map[uint32]bool{}
		for j := range x.Events {
			e := &x.Events[j]
			if e.Kind == bundle.EventStart && e.PID != 0 && !pids[e.PID] && len(pids) < maxProcesses {
				pids[e.PID] = true
				ps = append(ps, bundle.Process{Name: x.Name, PID: e.PID, Started: e.At, Ended: endOf(e.PID, e.At, exchanges)})
			}
		}
	}
	slices.SortFunc(ps, func(a, b bundle.Process) int { return cmp.Compare(a.Started.N, b.Started.N) })
	return ps
}

// foundPID returns the pid of the process of a WebSocket, 0 if it was not looked for or not found.
func (it *iteration) foundPID(name string) uint32 {
	it.mu.Lock()
	defer it.mu.Unlock()
	if h := it.byName[name]; h != nil {
		return h.pid
	}
	return 0
}

// endedAt returns when an exchange showed the end of its process, nil if it did not.
func endedAt(x *bundle.Exchange) *bundle.Stamp {
	for i := range x.Events {
		if x.Events[i].Kind == bundle.EventEnd {
			return &x.Events[i].At
		}
	}
	return nil
}

// sawConnect reports whether raw bytes called Connect, so that an exchange is the
// answer to it.
func (it *iteration) sawConnect(x *bundle.Exchange) bool {
	if x.Op != bundle.OpRaw {
		return false
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.attached[x.Conn]
}

// endOf returns when any stream showed the end of a process that started at since.
func endOf(pid uint32, since bundle.Stamp, exchanges []bundle.Exchange) *bundle.Stamp {
	var first *bundle.Stamp
	for i := range exchanges {
		if pidOf(&exchanges[i]) != pid {
			continue
		}
		for _, e := range exchanges[i].Events {
			if e.Kind == bundle.EventEnd && since.Before(e.At) && (first == nil || e.At.Before(*first)) {
				first = new(e.At)
			}
		}
	}
	return first
}

// startLost reports whether a process may run whose pid is unknown. Raw bytes of a
// script may start any number of processes.
func startLost(exchanges []bundle.Exchange) bool {
	return slices.ContainsFunc(exchanges, func(x bundle.Exchange) bool {
		if x.Switched() {
			return endedAt(&x) == nil
		}
		own := x.Op == bundle.OpSend || x.Op == bundle.OpRaw
		return mayStart(&x) && x.Outcome != bundle.OutcomeNoConnect && (own || pidOf(&x) == 0)
	})
}

// cleanup kills the processes without an observed end, and waits until the target no
// longer lists them. Its calls are recorded as exchanges with Op cleanup.
func (it *iteration) cleanup(ctx context.Context, out *bundle.Iteration) {
	var left []*bundle.Process
	for i := range out.Processes {
		if out.Processes[i].Ended == nil && !it.apart(out.Processes[i].Name) {
			left = append(left, &out.Processes[i])
		}
	}
	if len(left) == 0 {
		return
	}
	bound := it.in.cleanupBound()
	ctx, cancel := it.in.aside(ctx, bound, afterInterrupt)
	defer cancel()
	rec := it.in.target.NewRecorder(it.in.clock)
	in := it.in.plain()
	killing := ctx
	if in.has("process.list") { // the list needs the other half
		killing, cancel = context.WithTimeout(ctx, bound/2)
		defer cancel()
	}
	for _, p := range left {
		p.Cleanup = in.kill(killing, rec, p.PID, viaOf(p.PID, out.Exchanges))
	}
	in.awaitUnlisted(ctx, rec, left)
	absorb(out, rec)
}

// apart reports whether the exchange of a name went to a sandbox.
func (it *iteration) apart(name string) bool {
	it.mu.Lock()
	defer it.mu.Unlock()
	h := it.byName[name]
	return h != nil && h.apart
}

// viaOf returns the surface by which a process was started.
func viaOf(pid uint32, exchanges []bundle.Exchange) string {
	for i := range exchanges {
		if pidOf(&exchanges[i]) == pid && exchanges[i].Shape == bundle.ShapeNDJSON {
			return surface.Commands
		}
	}
	return ""
}

// kill ends one process and returns the result in words.
func (in *instance) kill(ctx context.Context, rec *transport.Recorder, pid uint32, via string) string {
	req, err := in.killRequest(pid, via)
	if err != nil {
		return cleanupFailed + err.Error()
	}
	s := in.direct(ctx, rec, bundle.OpCleanup, req).Snapshot()
	in.breaker.markOwn(bundle.OpCleanup, in, s.Outcome != bundle.OutcomeNoAnswer)
	switch {
	case s.Outcome != bundle.OutcomeComplete:
		return strings.TrimSpace(fmt.Sprintf("%s%s %s", cleanupFailed, s.Outcome, s.Detail))
	case s.Response.Status/100 == 2 && s.Error == nil:
		return cleanupKilled
	case s.Response.Status == 404 || s.Error != nil && s.Error.Code == "not_found":
		return cleanupGone
	case s.Error != nil:
		return fmt.Sprintf("%sstatus %d, %s: %s", cleanupFailed, s.Response.Status, s.Error.Code, s.Error.Message)
	}
	return fmt.Sprintf("%sstatus %d", cleanupFailed, s.Response.Status)
}

func (in *instance) killRequest(pid uint32, via string) (render.Request, error) {
	noSignal := !in.has("process.signal") && in.has("ndjson.commands")
	if via == surface.Commands && in.has("ndjson.commands") || noSignal {
		return in.render().Surface(in.form(), surface.Commands, "POST", call.KillPath(int64(pid)), nil), nil
	}
	return in.render().RPC(in.form(), call.Kill(call.ByPID(pid)))
}

func (e *env) has(feature string) bool {
	return e.run.Features[feature].State == bundle.FeaturePresent
}

// awaitUnlisted waits until none of the killed processes is listed any more, so that
// the next scenario finds the target as it was before. An unlisted process is gone, and
// a listed one is not, whatever the response to the kill was.
func (in *instance) awaitUnlisted(ctx context.Context, rec *transport.Recorder, left []*bundle.Process) {
	if !in.has("process.list") {
		return
	}
	failed := func(p *bundle.Process) bool { return strings.HasPrefix(p.Cleanup, cleanupFailed) }
	for looks := 0; ; looks++ {
		list, ok := in.listed(ctx, rec, bundle.OpCleanup)
		switch {
		case !ok && looks == 0:
			return // unknown
		case !ok:
			stillListed(left) // by the last list
			return
		}
		left = slices.DeleteFunc(left, func(p *bundle.Process) bool {
			listed := slices.ContainsFunc(list, func(l listedProcess) bool { return l.pid == p.PID })
			if !listed && failed(p) {
				p.Cleanup = cleanupGone
			}
			return !listed
		})
		hopeless := looks >= failedGrace && !slices.ContainsFunc(left, func(p *bundle.Process) bool { return !failed(p) })
		if len(left) == 0 || hopeless || sleep(ctx, in.poll()) != nil {
			stillListed(left)
			return
		}
	}
}

// stillListed records that processes were not ended, whatever the response to the kill
// was.
func stillListed(left []*bundle.Process) {
	for _, p := range left {
		switch p.Cleanup {
		case cleanupKilled:
			p.Cleanup = cleanupFailed + "still listed after it was killed"
		case cleanupGone:
			p.Cleanup = cleanupFailed + "still listed after the target reported it gone"
		}
	}
}

// failedGrace is the number of further polls for a process that could not be killed: it
// may be about to exit by itself.
const failedGrace = 10

// sweep ends processes of this run whose pids are unknown or whose clean-up failed, by the mark in their
// environment, if there may be any. It is called while no scenario runs.
func (e *Engine) sweep(ctx context.Context) {
	if !e.lost.Swap(false) || e.gone.Load() || !e.env.has("process.list") {
		return
	}
	ctx, cancel := e.env.aside(ctx, e.env.cleanupBound(), afterInterrupt/2)
	defer cancel()
	e.endOurs(ctx)
}

// lastSweep bounds the search for what the run left behind, before the time scale; after an interrupt nothing extends it.
const lastSweep = 5 * time.Second

// leaveNothing ends every process of this run that the target still lists, after all scenarios. It has time of its own:
// an interrupt, and the end of the budget, have cut the clean-up before.
func (e *Engine) leaveNothing(ctx context.Context) {
	if !e.ran.Load() || e.gone.Load() || !e.env.has("process.list") {
		return
	}
	bound := e.env.scaled(lastSweep)
	if ctx.Err() != nil {
		bound = min(bound, lastSweep)
	}
	if e.env.breaker.isOpen(way{kind: kindCall + processService}) {
		bound = min(bound, lastSweep/2) // the target does not respond
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	for same := 0; ; same++ { // looks that found as many as the one before
		left, ok := e.endOurs(ctx)
		if !ok {
			return
		}
		if len(left) < len(e.left) {
			same = 0
		}
		e.left, e.swept = left, true
		if len(left) == 0 || same > failedGrace || sleep(ctx, e.env.poll()) != nil {
			break
		}
	}
	for _, l := range e.left {
		e.o.Log.Warn("a process of this run could not be ended", "pid", l.PID, "mark", l.Mark, "cleanup", l.Cleanup)
	}
}

// endOurs ends the processes of this run that the target lists, and returns them. false means that it did not list any.
func (e *Engine) endOurs(ctx context.Context) ([]bundle.Leftover, bool) {
	in := e.env.housekeeper(bundle.OpCleanup)
	rec := e.env.target.NewRecorder(e.env.clock)
	defer rec.Finish(nil)
	list, ok := in.listed(ctx, rec, bundle.OpCleanup)
	var left []bundle.Leftover
	for _, p := range list {
		if strings.HasPrefix(p.mark, e.env.run.ID+"/") {
			l := bundle.Leftover{PID: p.pid, Mark: p.mark, Cleanup: in.kill(ctx, rec, p.pid, "")}
			e.o.Log.Debug("a process of this run was left behind", "pid", l.PID, "mark", l.Mark, "cleanup", l.Cleanup)
			left = append(left, l)
		}
	}
	return left, ok
}
