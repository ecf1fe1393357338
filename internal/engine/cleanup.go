package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/transport"
)

// afterInterrupt is how long a clean-up may last once the run was interrupted;
// together with the ending of the exchanges it stays below two seconds.
const afterInterrupt = 1200 * time.Millisecond

// What the clean-up says of a process.
const (
	cleanupKilled = "killed"
	cleanupGone   = "gone"
	cleanupFailed = "failed: " // and why
)

// mayStart reports whether an exchange asked for a new process.
func mayStart(x *bundle.Exchange) bool {
	switch {
	case x.Op == "raw":
		return x.Shape == bundle.ShapeStream || x.Shape == bundle.ShapeNDJSON
	case x.RPC == call.ProcessStart:
		return true
	}
	return x.Surface == surfaceCommands && x.Shape == bundle.ShapeNDJSON
}

// processes are the processes that the exchanges started, and when their end was
// seen on any stream. Those that an exchange only connected to are not ours.
func (it *iteration) processes(exchanges []bundle.Exchange) []bundle.Process {
	var ps []bundle.Process
	for i := range exchanges {
		x := &exchanges[i]
		if !mayStart(x) || it.sawConnect(x) {
			continue
		}
		for j := range x.Events {
			e := &x.Events[j]
			if e.Kind == bundle.EventStart && e.PID != 0 {
				ps = append(ps, bundle.Process{Name: x.Name, PID: e.PID, Started: e.At, Ended: endOf(e.PID, e.At, exchanges)})
			}
		}
	}
	slices.SortFunc(ps, func(a, b bundle.Process) int { return cmp.Compare(a.Started.N, b.Started.N) })
	return ps
}

// sawConnect reports whether an answer to raw bytes is that of a call to Connect.
func (it *iteration) sawConnect(x *bundle.Exchange) bool {
	if x.Op != "raw" {
		return false
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.attached[x.Conn]
}

// endOf is when a process that began at since was seen to end, on any stream.
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

// startLost reports whether a process may run whose pid was never told. Of what a
// script writes itself nobody knows how many it starts.
func startLost(exchanges []bundle.Exchange) bool {
	return slices.ContainsFunc(exchanges, func(x bundle.Exchange) bool {
		own := x.Op == "send" || x.Op == "raw"
		return mayStart(&x) && x.Outcome != bundle.OutcomeNoConnect && (own || pidOf(&x) == 0)
	})
}

// cleanup kills the processes that have not been seen to end, and waits until
// the target no longer lists them. Its calls are recorded as exchanges of Op cleanup.
func (it *iteration) cleanup(ctx context.Context, out *bundle.Iteration) {
	var left []*bundle.Process
	for i := range out.Processes {
		if out.Processes[i].Ended == nil {
			left = append(left, &out.Processes[i])
		}
	}
	if len(left) == 0 {
		return
	}
	bound := it.in.cleanupBound()
	ctx, cancel := aside(ctx, bound, afterInterrupt)
	defer cancel()
	rec := transport.NewRecorder(it.in.clock, it.in.secrets)
	in := it.in.plain()
	killing := ctx
	if in.has("process.list") { // which is asked in any case
		killing, cancel = context.WithTimeout(ctx, bound/2)
		defer cancel()
	}
	for _, p := range left {
		p.Cleanup = in.kill(killing, rec, p.PID, viaOf(p.PID, out.Exchanges))
	}
	in.awaitUnlisted(ctx, rec, left)
	absorb(out, rec)
}

// viaOf is the surface by which a process was started.
func viaOf(pid uint32, exchanges []bundle.Exchange) string {
	for i := range exchanges {
		if pidOf(&exchanges[i]) == pid && exchanges[i].Shape == bundle.ShapeNDJSON {
			return viaCommands
		}
	}
	return ""
}

// kill ends one process and says in a word how that went.
func (in *instance) kill(ctx context.Context, rec *transport.Recorder, pid uint32, via string) string {
	req, err := in.killRequest(pid, via)
	if err != nil {
		return cleanupFailed + err.Error()
	}
	s := in.direct(ctx, rec, opCleanup, req).Snapshot()
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

func (in *instance) killRequest(pid uint32, via string) (request, error) {
	noSignal := !in.has("process.signal") && in.has("ndjson.commands")
	if via == viaCommands && in.has("ndjson.commands") || noSignal {
		return in.surfaceRequest(in.form(), surfaceCommands, "POST", call.KillPath(int64(pid)), nil), nil
	}
	return in.rpcRequest(in.form(), call.Kill(call.ByPID(pid)), headerPlan{})
}

func (e *env) has(feature string) bool {
	return e.run.Features[feature].State == bundle.FeaturePresent
}

// awaitUnlisted waits until no process that was to be ended is listed any more, so that
// what runs next finds the target as it was before. What is not listed is gone, however
// the attempt to end it went; what stays listed was not ended, whatever was answered.
func (in *instance) awaitUnlisted(ctx context.Context, rec *transport.Recorder, left []*bundle.Process) {
	if !in.has("process.list") {
		return
	}
	failed := func(p *bundle.Process) bool { return strings.HasPrefix(p.Cleanup, cleanupFailed) }
	for looks := 0; ; looks++ {
		list, ok := in.listed(ctx, rec, opCleanup)
		switch {
		case !ok && looks == 0:
			return // nobody knows
		case !ok:
			stillListed(left) // as it said last
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

// stillListed says of processes that they were not ended, whatever was answered.
func stillListed(left []*bundle.Process) {
	for _, p := range left {
		switch p.Cleanup {
		case cleanupKilled:
			p.Cleanup = cleanupFailed + "still listed after it was killed"
		case cleanupGone:
			p.Cleanup = cleanupFailed + "still listed after it was said to be gone"
		}
	}
}

// failedGrace is how many further looks are taken at a process that could not be killed:
// it may be about to end by itself.
const failedGrace = 10

// sweep ends processes of this run whose pids were never told to us, by the mark
// in their environment, when there may be any. It is called when no scenario runs.
func (e *Engine) sweep(ctx context.Context) {
	if !e.lost.Swap(false) || e.gone.Load() || !e.env.has("process.list") {
		return
	}
	ctx, cancel := aside(ctx, e.env.cleanupBound(), afterInterrupt/2)
	defer cancel()
	in := e.env.housekeeper(opCleanup)
	rec := transport.NewRecorder(e.env.clock, e.env.secrets)
	defer rec.Finish(nil)
	list, _ := in.listed(ctx, rec, opCleanup)
	for _, p := range list {
		if strings.HasPrefix(p.mark, e.env.run.ID+"/") {
			e.o.Log.Warn("a process of this run was left over", "pid", p.pid, "mark", p.mark,
				"cleanup", in.kill(ctx, rec, p.pid, ""))
		}
	}
}
