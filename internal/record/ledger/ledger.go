package ledger

import (
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
)

// Ledger holds the driver's own counts: Started = OK + Error + Killed + Open.
type Ledger struct {
	// Started counts the processes with a start event.
	Started int
	// OK counts exit code 0, Error other codes and signals that nobody sent through the gateway.
	OK, Error int
	// Killed counts processes ended by a successful SIGKILL (at once), by a SIGTERM that they
	// died of, by a deadline, or by the clean-up.
	Killed int
	// Open counts processes without an observed end.
	Open int
}

// Of computes the ledger of an observation from its start events, end events and
// successful kills.
func Of(o *bundle.Observation) Ledger {
	var l Ledger
	for i := range o.Iterations {
		for _, p := range accounts(&o.Iterations[i]) {
			l.Started++
			switch p.fate() {
			case fateOK:
				l.OK++
			case fateError:
				l.Error++
			case fateKilled:
				l.Killed++
			case fateOpen:
				l.Open++
			}
		}
	}
	return l
}

// Uncertain counts the Starts whose response does not show whether a process started: it was
// cut, given up or aborted before a start event or an error.
func Uncertain(o *bundle.Observation) int {
	n := 0
	for _, x := range o.Exchanges() {
		if !IsStart(x) || x.Outcome == bundle.OutcomeNoConnect {
			continue
		}
		if x.First(bundle.EventStart) == nil && !x.Switched() && x.Outcome != bundle.OutcomeComplete && x.Error == nil {
			n++
		}
	}
	return n
}

// IsStart reports whether an exchange starts a new process of the target itself, and not of a
// sandbox, which has counters of its own.
func IsStart(x *bundle.Exchange) bool {
	return x.Sandbox == "" && (x.RPC == call.ProcessStart || x.Shape == bundle.ShapeStdio || x.RPC == "" && x.Surface == surface.Commands && x.Shape == bundle.ShapeNDJSON &&
		(x.Op == bundle.OpStart || x.Request.Method == "POST"))
}

type fate int

const (
	fateOpen fate = iota
	fateOK
	fateError
	fateKilled
)

// account is one process that the driver started.
type account struct {
	pid     uint32
	tag     string
	started bundle.Stamp
	exit    *bundle.Exit
	killed  bool // at once
	term    bool // SIGTERM was sent successfully
	cleaned bool
}

func (p *account) fate() fate {
	switch {
	case p.killed:
		return fateKilled
	case p.exit == nil && p.cleaned:
		return fateKilled
	case p.exit == nil:
		return fateOpen
	case p.exit.Code == 0 && p.exit.Signal == "":
		return fateOK
	case p.term && (p.exit.Signal != "" || p.exit.Code < 0):
		return fateKilled
	}
	return fateError
}

// accounts opens one account per start event of an iteration and books every observed end,
// kill and deadline.
func accounts(it *bundle.Iteration) []*account {
	var all []*account
	for x := range bundle.Each(it.Exchanges) {
		if x.Switched() {
			all = append(all, socketAccount(it, x))
			continue
		}
		start := x.First(bundle.EventStart)
		if start == nil || !IsStart(x) {
			continue
		}
		p := &account{pid: start.PID, tag: startTag(x), started: x.Invoked, killed: deadlineHit(x)}
		all = append(all, p)
	}
	for i := range it.Exchanges {
		bookEnd(all, &it.Exchanges[i])
		bookSignal(all, &it.Exchanges[i])
	}
	for _, proc := range it.Processes {
		if p := find(all, proc.PID, ""); p != nil && strings.HasPrefix(proc.Cleanup, "killed") {
			p.cleaned = true
		}
	}
	return all
}

// socketAccount opens the account of the process of a WebSocket, whose pid is known only if the
// engine looked for it.
func socketAccount(it *bundle.Iteration, x *bundle.Exchange) *account {
	p := &account{started: x.Invoked, exit: firstExit(x)}
	for _, known := range it.Processes {
		if known.Name == x.Name {
			p.pid = known.PID
		}
	}
	return p
}

// firstExit returns the first content of an end event, or nil.
func firstExit(x *bundle.Exchange) *bundle.Exit {
	if e := bundle.Find(x.Events, func(e *bundle.Event) bool { return e.Exit != nil }); e != nil {
		return e.Exit
	}
	return nil
}

func bookEnd(all []*account, x *bundle.Exchange) {
	start, exit := x.First(bundle.EventStart), firstExit(x)
	if start == nil || exit == nil {
		return
	}
	if p := find(all, start.PID, ""); p != nil && p.exit == nil {
		p.exit = exit
	}
}

func bookSignal(all []*account, x *bundle.Exchange) {
	if !succeeded(x) {
		return
	}
	pid, tag, sig, ok := signalOf(x)
	if !ok {
		return
	}
	p := find(all, pid, tag)
	switch {
	case p == nil:
	case sig == sigKill:
		p.killed = true
	case sig == sigTerm:
		p.term = true
	}
}

// find returns the latest account of a pid, or of a tag if pid is 0.
func find(all []*account, pid uint32, tag string) *account {
	for i := len(all) - 1; i >= 0; i-- {
		if p := all[i]; pid != 0 && p.pid == pid || pid == 0 && tag != "" && p.tag == tag {
			return p
		}
	}
	return nil
}

// succeeded reports whether an exchange had a complete, successful response.
func succeeded(x *bundle.Exchange) bool {
	return x.Response != nil && x.Response.Status/100 == 2 && x.Error == nil && x.Outcome == bundle.OutcomeComplete
}
