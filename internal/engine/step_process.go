package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"assay/scenarios"
)

// Surfaces of a target.
const (
	surfaceProcess  = "process"
	surfaceCommands = "commands"
	surfaceMetrics  = "metrics"
)

const (
	rpcStart      = "process.Process/Start"
	rpcConnect    = "process.Process/Connect"
	rpcSendSignal = "process.Process/SendSignal"
	rpcSendInput  = "process.Process/SendInput"
	rpcCloseStdin = "process.Process/CloseStdin"
	rpcUpdate     = "process.Process/Update"
	rpcList       = "process.Process/List"
)

const viaCommands = "commands"

// The messages of requests, in the order in which their fields are sent.
type (
	startMessage struct {
		Process configMessage `json:"process"`
		PTY     *ptyMessage   `json:"pty,omitempty"`
		Tag     *string       `json:"tag,omitempty"`
		Stdin   *bool         `json:"stdin,omitempty"`
	}
	configMessage struct {
		Cmd  string            `json:"cmd,omitempty"`
		Args []string          `json:"args,omitempty"`
		Envs map[string]string `json:"envs,omitempty"`
		Cwd  *string           `json:"cwd,omitempty"`
	}
	ptyMessage struct {
		Size sizeMessage `json:"size"`
	}
	sizeMessage struct {
		Cols uint32 `json:"cols"`
		Rows uint32 `json:"rows"`
	}
	// targetMessage is any request that names a process.
	targetMessage struct {
		Process selectorMessage `json:"process"`
		Signal  json.RawMessage `json:"signal,omitempty"`
		Input   *inputMessage   `json:"input,omitempty"`
		PTY     *ptyMessage     `json:"pty,omitempty"`
	}
	selectorMessage struct {
		PID *int64  `json:"pid,omitempty"`
		Tag *string `json:"tag,omitempty"`
	}
	inputMessage struct {
		Stdin *[]byte `json:"stdin,omitempty"`
		PTY   *[]byte `json:"pty,omitempty"`
	}
	commandMessage struct {
		Cmd       string `json:"cmd"`
		TimeoutMS *int64 `json:"timeout_ms,omitempty"`
	}
)

// requestStep is the plan of a step that makes one request; ok is false for any other.
func (it *iteration) requestStep(st *scenarios.Step) (p callPlan, ok bool) {
	switch {
	case st.Send != nil:
		return it.sendPlan(st.Send), true
	case st.Start != nil:
		return it.startPlan(st.Start), true
	case st.Connect != nil:
		t := st.Connect.Target
		p = it.targetPlan("connect", rpcConnect, cmp.Or(st.Connect.As, t.As), t, nil)
		p.wait = cmp.Or(st.Connect.Wait, waitStart)
		return p, true
	case st.Signal != nil:
		return it.signalPlan(st.Signal), true
	case st.Input != nil:
		return it.inputPlan(st.Input), true
	case st.CloseStdin != nil:
		return it.targetPlan("close-stdin", rpcCloseStdin, st.CloseStdin.As, *st.CloseStdin, nil), true
	case st.Update != nil:
		u := st.Update
		return it.targetPlan("update", rpcUpdate, u.As, u.Target, func(_ context.Context, m *targetMessage) error {
			m.PTY = &ptyMessage{Size: sizeMessage{u.Cols, u.Rows}}
			return nil
		}), true
	case st.List != nil:
		return it.listPlan(st.List), true
	}
	return callPlan{}, false
}

func (it *iteration) startPlan(s *scenarios.Start) callPlan {
	return callPlan{
		op: "start", as: s.As, on: s.On, wait: cmp.Or(s.Wait, waitStart), within: s.Within, tag: s.Tag,
		build: func(ctx context.Context, f form) (request, error) {
			if s.Via == viaCommands {
				return it.commandRequest(f, s)
			}
			return it.startRequest(ctx, f, s)
		},
	}
}

// startRequest is Start with the run's mark in the environment, so that what is left behind is known.
func (it *iteration) startRequest(ctx context.Context, f form, s *scenarios.Start) (request, error) {
	m := startMessage{Stdin: s.Stdin}
	var err error
	if m.Process, err = it.config(ctx, s); err != nil {
		return request{}, err
	}
	if s.Tag != nil {
		tag, err := it.expand(ctx, *s.Tag)
		if err != nil {
			return request{}, err
		}
		m.Tag = &tag
	}
	if s.PTY != nil {
		m.PTY = &ptyMessage{Size: sizeMessage{s.PTY.Cols, s.PTY.Rows}}
	}
	body, err := scenarios.CompactJSON(m)
	if err != nil {
		return request{}, err
	}
	return it.in.rpcRequest(f, rpcStart, body, headerPlan{timeoutMS: s.TimeoutMS, overrides: s.Headers})
}

// config is the command; of its strings only the values of the environment hold
// variables, since a shell has its own use for ${...}.
func (it *iteration) config(ctx context.Context, s *scenarios.Start) (configMessage, error) {
	words := append([]string{s.Cmd}, s.Args...)
	if s.Sh != "" {
		words = append(slices.Clone(it.in.target.Shell()), s.Sh)
	}
	c := configMessage{Cmd: words[0], Args: words[1:], Cwd: s.Cwd, Envs: map[string]string{markName: it.in.mark()}}
	for name, value := range s.Envs {
		value, err := it.expand(ctx, value)
		if err != nil {
			return configMessage{}, err
		}
		c.Envs[name] = value
	}
	return c, nil
}

func (it *iteration) commandRequest(f form, s *scenarios.Start) (request, error) {
	body, err := scenarios.CompactJSON(commandMessage{Cmd: s.Sh, TimeoutMS: s.TimeoutMS})
	if err != nil {
		return request{}, err
	}
	return it.in.surfaceRequest(f, surfaceCommands, "POST", "", body), nil
}

// targetPlan is a call that names a process; fill adds the rest of its message.
func (it *iteration) targetPlan(op, rpc, as string, t scenarios.Target, fill func(context.Context, *targetMessage) error) callPlan {
	return callPlan{op: op, as: as, build: func(ctx context.Context, f form) (request, error) {
		var m targetMessage
		var err error
		if m.Process, err = it.selector(ctx, t); err != nil {
			return request{}, err
		}
		if fill != nil {
			if err := fill(ctx, &m); err != nil {
				return request{}, err
			}
		}
		body, err := scenarios.CompactJSON(m)
		if err != nil {
			return request{}, err
		}
		return it.in.rpcRequest(f, rpc, body, headerPlan{})
	}}
}

// selector names a process by the pid of one started before, or as the script has it.
func (it *iteration) selector(ctx context.Context, t scenarios.Target) (selectorMessage, error) {
	m := selectorMessage{PID: t.PID}
	if t.To != "" {
		pid, err := it.pidOfName(ctx, t.To)
		if err != nil {
			return m, err
		}
		m.PID = new(int64(pid))
	}
	if t.Tag != nil {
		tag, err := it.expand(ctx, *t.Tag)
		if err != nil {
			return m, err
		}
		m.Tag = &tag
	}
	return m, nil
}

func (it *iteration) pidOfName(ctx context.Context, name string) (uint32, error) {
	h, err := it.handle(name)
	if err != nil {
		return 0, err
	}
	return it.pid(ctx, h)
}

func (it *iteration) signalPlan(s *scenarios.Signal) callPlan {
	if s.Via != viaCommands {
		return it.targetPlan("signal", rpcSendSignal, s.As, s.Target, func(_ context.Context, m *targetMessage) error {
			m.Signal = signalValue(s.Name)
			return nil
		})
	}
	return callPlan{op: "signal", as: s.As, build: func(ctx context.Context, f form) (request, error) {
		sel, err := it.selector(ctx, s.Target)
		if err != nil {
			return request{}, err
		}
		if sel.PID == nil {
			return request{}, errors.New("a signal via commands names its process by `to` or `pid`")
		}
		return it.in.surfaceRequest(f, surfaceCommands, "POST", killPath(*sel.PID), nil), nil
	}}
}

// killPath is the path of the NDJSON alias that kills a process.
func killPath(pid int64) string { return "/" + strconv.FormatInt(pid, 10) + "/kill" }

// signalValue is a signal as it stands in JSON: the two that exist by their
// enum names, a number as a number, any other name as it is.
func signalValue(name string) json.RawMessage {
	switch name {
	case "SIGKILL", "SIGTERM":
		name = "SIGNAL_" + name
	}
	if _, err := strconv.Atoi(name); err == nil {
		return json.RawMessage(name)
	}
	return json.RawMessage(strconv.Quote(name))
}

func (it *iteration) inputPlan(s *scenarios.Input) callPlan {
	return it.targetPlan("input", rpcSendInput, s.As, s.Target, func(ctx context.Context, m *targetMessage) error {
		data, err := it.bytesOf(ctx, s.Data)
		if err != nil {
			return err
		}
		if data == nil {
			data = []byte{}
		}
		m.Input = &inputMessage{Stdin: &data}
		if s.PTY {
			m.Input = &inputMessage{PTY: &data}
		}
		return nil
	})
}

func (it *iteration) listPlan(l *scenarios.List) callPlan {
	return callPlan{op: "list", as: l.As, build: func(_ context.Context, f form) (request, error) {
		if l.Via == viaCommands {
			return it.in.surfaceRequest(f, surfaceCommands, "GET", "", nil), nil
		}
		return it.in.rpcRequest(f, rpcList, []byte("{}"), headerPlan{})
	}}
}

// markName is the variable by which every process that we start can be known.
const markName = "ASSAY_RUN"

// mark is its value: RUN/SCENARIO.
func (in *instance) mark() string { return in.run.ID + "/" + in.s.ID }
