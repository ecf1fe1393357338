package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/surface"
	"assay/scenarios"
)

// requestStep returns the plan of a step that makes one request; ok is false for any other step.
func (it *iteration) requestStep(st *scenarios.Step) (p callPlan, ok bool) {
	if _, t := st.Socket(); t != nil {
		return callPlan{}, false
	}
	switch {
	case st.Send != nil:
		return it.sendPlan(st.Send), true
	case st.Start != nil:
		return it.startPlan(st.Start), true
	case st.Connect != nil:
		t := st.Connect.Target
		p = it.targetPlan("connect", cmp.Or(st.Connect.As, t.As), t, func(s call.Selector) call.Message {
			return call.Attach{Process: s}
		})
		p.wait = cmp.Or(st.Connect.Wait, waitStart)
		return p, true
	case st.Signal != nil:
		return it.signalPlan(st.Signal), true
	case st.Input != nil:
		return it.inputPlan(st.Input), true
	case st.CloseStdin != nil:
		return it.targetPlan("close-stdin", st.CloseStdin.As, *st.CloseStdin, func(s call.Selector) call.Message {
			return call.CloseStdin{Process: s}
		}), true
	case st.Update != nil:
		u := st.Update
		return it.targetPlan("update", u.As, u.Target, func(s call.Selector) call.Message {
			return call.Update{Process: s, PTY: call.PTY{Size: call.Size{Cols: u.Cols, Rows: u.Rows}}}
		}), true
	case st.List != nil:
		return it.listPlan(st.List), true
	}
	return callPlan{}, false
}

func (it *iteration) startPlan(s *scenarios.Start) callPlan {
	return callPlan{
		op: bundle.OpStart, as: s.As, on: s.On, wait: cmp.Or(s.Wait, waitStart), within: s.Within, tag: s.Tag,
		http1: s.Via == surface.Stdio,
		build: func(ctx context.Context, f call.Form) (request, error) {
			switch s.Via {
			case surface.Commands:
				return it.commandRequest(f, s)
			case surface.Stdio:
				return it.stdioRequest(ctx, f, s)
			}
			return it.startRequest(ctx, f, s)
		},
	}
}

// startRequest returns a Start with the run's mark in the environment, so that
// processes left behind can be recognized.
func (it *iteration) startRequest(ctx context.Context, f call.Form, s *scenarios.Start) (request, error) {
	m := call.Start{Stdin: s.Stdin}
	var err error
	if m.Process, err = it.config(ctx, s); err != nil {
		return request{}, err
	}
	if m.Tag, err = it.tag(ctx, s.Tag); err != nil {
		return request{}, err
	}
	if s.PTY != nil {
		m.PTY = &call.PTY{Size: call.Size{Cols: s.PTY.Cols, Rows: s.PTY.Rows}}
	}
	return it.in.rpcRequest(f, m, headerPlan{timeoutMS: s.TimeoutMS, overrides: s.Headers})
}

// config returns the command. Variables are expanded only in the working directory and in the
// values of the environment, since a shell has its own use for ${...}.
func (it *iteration) config(ctx context.Context, s *scenarios.Start) (call.Config, error) {
	words := append([]string{s.Cmd}, s.Args...)
	if s.Sh != "" {
		words = append(slices.Clone(it.in.target.Shell()), s.Sh)
	}
	c := call.Config{Cmd: words[0], Args: words[1:], Cwd: s.Cwd, Envs: map[string]string{call.Mark: it.in.mark()}}
	if s.Cwd != nil {
		cwd, err := it.expand(ctx, *s.Cwd)
		if err != nil {
			return call.Config{}, err
		}
		c.Cwd = &cwd
	}
	for name, value := range s.Envs {
		value, err := it.expand(ctx, value)
		if err != nil {
			return call.Config{}, err
		}
		c.Envs[name] = value
	}
	return c, nil
}

// tag expands the variables in a tag; nil stays nil.
func (it *iteration) tag(ctx context.Context, tag *string) (*string, error) {
	if tag == nil {
		return nil, nil
	}
	value, err := it.expand(ctx, *tag)
	return &value, err
}

func (it *iteration) commandRequest(f call.Form, s *scenarios.Start) (request, error) {
	body, err := call.Command{Cmd: s.Sh, TimeoutMS: s.TimeoutMS}.JSON()
	if err != nil {
		return request{}, err
	}
	return it.in.surfaceRequest(f, surface.Commands, "POST", "", body), nil
}

// targetPlan plans a call about a process; message makes its request message.
func (it *iteration) targetPlan(op, as string, t scenarios.Target, message func(call.Selector) call.Message) callPlan {
	return callPlan{op: op, as: as, build: func(ctx context.Context, f call.Form) (request, error) {
		s, err := it.selector(ctx, t)
		if err != nil {
			return request{}, err
		}
		return it.in.rpcRequest(f, message(s), headerPlan{})
	}}
}

// selector names a process by the pid of an earlier start, or as the script does.
func (it *iteration) selector(ctx context.Context, t scenarios.Target) (call.Selector, error) {
	s := call.Selector{PID: t.PID}
	var err error
	if t.To != "" {
		pid, err := it.pidOfName(ctx, t.To)
		if err != nil {
			return s, err
		}
		s.PID = call.ByPID(pid).PID
	}
	s.Tag, err = it.tag(ctx, t.Tag)
	return s, err
}

func (it *iteration) pidOfName(ctx context.Context, name string) (uint32, error) {
	h, err := it.handle(name)
	if err != nil {
		return 0, err
	}
	return it.pid(ctx, h)
}

func (it *iteration) signalPlan(s *scenarios.Signal) callPlan {
	if s.Via != surface.Commands {
		return it.targetPlan("signal", s.As, s.Target, func(sel call.Selector) call.Message {
			return call.SendSignal{Process: sel, Signal: call.Signal(s.Name)}
		})
	}
	return callPlan{op: bundle.OpSignal, as: s.As, build: func(ctx context.Context, f call.Form) (request, error) {
		sel, err := it.selector(ctx, s.Target)
		if err != nil {
			return request{}, err
		}
		if sel.PID == nil {
			return request{}, errors.New("a signal via commands names its process by `to` or `pid`")
		}
		return it.in.surfaceRequest(f, surface.Commands, "POST", call.KillPath(*sel.PID), nil), nil
	}}
}

func (it *iteration) inputPlan(s *scenarios.Input) callPlan {
	return callPlan{op: bundle.OpInput, as: s.As, build: func(ctx context.Context, f call.Form) (request, error) {
		sel, err := it.selector(ctx, s.Target)
		if err != nil {
			return request{}, err
		}
		data, err := it.bytesOf(ctx, s.Data)
		if err != nil {
			return request{}, err
		}
		if data == nil {
			data = []byte{}
		}
		m := call.SendInput{Process: sel, Input: call.Input{Stdin: &data}}
		if s.PTY {
			m.Input = call.Input{PTY: &data}
		}
		return it.in.rpcRequest(f, m, headerPlan{})
	}}
}

func (it *iteration) listPlan(l *scenarios.List) callPlan {
	return callPlan{op: bundle.OpList, as: l.As, build: func(_ context.Context, f call.Form) (request, error) {
		if l.Via == surface.Commands {
			return it.in.surfaceRequest(f, surface.Commands, "GET", "", nil), nil
		}
		return it.in.rpcRequest(f, call.List{}, headerPlan{})
	}}
}

// mark returns the value of call.Mark: RUN/SCENARIO.
func (in *instance) mark() string { return in.run.ID + "/" + in.s.ID }
