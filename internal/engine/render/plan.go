package render

import (
	"cmp"
	"errors"
	"slices"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target"
	"assay/scenarios"
)

// Renderer renders the requests of one scenario to one target.
type Renderer struct {
	Target   *target.Target
	Scenario string // its id
	Run      string // the id of the run
	// Place tells processes over WebSockets apart that have the same name: the axes and the iteration.
	Place string
}

// Mark returns the value of call.Mark: RUN/SCENARIO.
func (r Renderer) Mark() string { return r.Run + "/" + r.Scenario }

// The events for which a step can wait before the next one runs.
const (
	WaitEnd   = "end" // also ""
	WaitHead  = "head"
	WaitStart = "start"
	WaitNone  = "none"
)

// Plan is the request that a step makes. Its form is known only when its connection is.
type Plan struct {
	Op, As   string
	Protocol string // overrides the protocol of the axes
	Split    *scenarios.Split
	On       string // an earlier connection to use instead of a new one
	Finish   string // how to end the connection after the request
	Wait     string
	Within   scenarios.Span
	Tag      *string // of a start, for later steps
	HTTP1    bool    // over HTTP/1.1, whatever the axes are
	// Request renders it in a form.
	Request func(call.Form) (Request, error)
}

// Plan returns the plan of a resolved step that makes one request; ok is false for any other step.
func (r Renderer) Plan(st *scenarios.Step) (p Plan, ok bool) {
	if _, t := st.Socket(); t != nil {
		return Plan{}, false
	}
	switch {
	case st.Send != nil:
		s := st.Send
		return Plan{
			Op: bundle.OpSend, As: s.As, Split: s.Split, On: s.On, Finish: s.Finish, Wait: s.Wait, Within: s.Within, Protocol: s.Protocol,
			Request: func(f call.Form) (Request, error) { return r.send(f, s) },
		}, true
	case st.Start != nil:
		s := st.Start
		return Plan{
			Op: bundle.OpStart, As: s.As, On: s.On, Wait: cmp.Or(s.Wait, WaitStart), Within: s.Within, Tag: s.Tag,
			HTTP1: s.Via == surface.Stdio, Request: func(f call.Form) (Request, error) { return r.start(f, s) },
		}, true
	case st.Connect != nil:
		p = r.about(bundle.OpConnect, &st.Connect.Target, call.Attach{Process: selector(&st.Connect.Target)})
		p.Wait = cmp.Or(st.Connect.Wait, WaitStart)
		return p, true
	case st.Signal != nil:
		return r.signal(st.Signal), true
	case st.Input != nil:
		return r.input(st.Input), true
	case st.CloseStdin != nil:
		return r.about(bundle.OpCloseStdin, st.CloseStdin, call.CloseStdin{Process: selector(st.CloseStdin)}), true
	case st.Update != nil:
		u := st.Update
		return r.about(bundle.OpUpdate, &u.Target, call.Update{Process: selector(&u.Target), PTY: call.PTY{Size: call.Size{Cols: u.Cols, Rows: u.Rows}}}), true
	case st.List != nil:
		l := st.List
		return Plan{Op: bundle.OpList, As: l.As, Request: func(f call.Form) (Request, error) {
			if l.Via == surface.Commands {
				return r.Surface(f, surface.Commands, "GET", "", nil), nil
			}
			return r.RPC(f, call.List{})
		}}, true
	}
	return Plan{}, false
}

// start renders a Start with the run's mark in the environment, so that processes left behind can be recognized, or a start over
// another surface.
func (r Renderer) start(f call.Form, s *scenarios.Start) (Request, error) {
	switch s.Via {
	case surface.Commands:
		body, err := call.Command{Cmd: s.Sh, TimeoutMS: s.TimeoutMS}.JSON()
		if err != nil {
			return Request{}, err
		}
		return r.Surface(f, surface.Commands, "POST", "", body), nil
	case surface.Stdio:
		return r.upgrade(f, s), nil
	}
	words := r.words(s)
	m := call.Start{
		Process: call.Config{Cmd: words[0], Args: words[1:], Cwd: s.Cwd, Envs: map[string]string{call.Mark: r.Mark()}},
		Tag:     s.Tag, Stdin: s.Stdin,
	}
	for name, value := range s.Envs {
		m.Process.Envs[name] = value
	}
	if s.PTY != nil {
		m.PTY = &call.PTY{Size: call.Size{Cols: s.PTY.Cols, Rows: s.PTY.Rows}}
	}
	return r.rpc(f, m, fields{timeoutMS: s.TimeoutMS, overrides: s.Headers})
}

// words returns the command and its arguments; more follow those of a shell command.
func (r Renderer) words(s *scenarios.Start, more ...string) []string {
	if s.Sh != "" {
		return append(append(slices.Clone(r.Target.Shell()), s.Sh), more...)
	}
	return append([]string{s.Cmd}, s.Args...)
}

// about plans a call about a process.
func (r Renderer) about(op string, t *scenarios.Target, m call.Message) Plan {
	return Plan{Op: op, As: t.As, Request: func(f call.Form) (Request, error) { return r.RPC(f, m) }}
}

// selector names a process as the step does, or by the pid of an earlier start.
func selector(t *scenarios.Target) call.Selector { return call.Selector{PID: t.PID, Tag: t.Tag} }

func (r Renderer) signal(s *scenarios.Signal) Plan {
	if s.Via != surface.Commands {
		return r.about(bundle.OpSignal, &s.Target, call.SendSignal{Process: selector(&s.Target), Signal: call.Signal(s.Name)})
	}
	return Plan{Op: bundle.OpSignal, As: s.As, Request: func(f call.Form) (Request, error) {
		if s.PID == nil {
			return Request{}, errors.New("a signal via commands names its process by `to` or `pid`")
		}
		return r.Surface(f, surface.Commands, "POST", call.KillPath(*s.PID), nil), nil
	}}
}

func (r Renderer) input(s *scenarios.Input) Plan {
	return Plan{Op: bundle.OpInput, As: s.As, Request: func(f call.Form) (Request, error) {
		data, err := r.Bytes(s.Data)
		if err != nil {
			return Request{}, err
		}
		if data == nil {
			data = []byte{}
		}
		m := call.SendInput{Process: selector(&s.Target), Input: call.Input{Stdin: &data}}
		if s.PTY {
			m.Input = call.Input{PTY: &data}
		}
		return r.RPC(f, m)
	}}
}
