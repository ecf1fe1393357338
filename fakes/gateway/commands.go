package gateway

import (
	"bytes"

	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	envd "assay/internal/envd/process"
)

// defaultLimit is the time limit of an alias command without timeout_ms, on the gateway's own
// clock.
const defaultLimit = 60 * time.Second

// maxLimit is the largest timeout_ms, the same as the largest Connect-Timeout-Ms.
const maxLimit = 9_999_999_999

// commands is the NDJSON alias of the process service:
//
//	POST /commands             {"cmd","timeout_ms"}: runs cmd with /bin/sh -c and streams its lines
//	GET  /commands             {"commands":[…]}: the live commands, sorted by pid
//	GET  /commands/{pid}       one command, until 30 s after its end
//	GET  /commands/{pid}/log   its output so far, at most the last 256 KiB, as text/plain
//	POST /commands/{pid}/kill  SIGKILL
//
// It shows the processes of both surfaces. Errors are JSON, {"code","message"},
// with the status of the code.
type commands struct {
	table Table
	own   clock
	shell []string // runs the commands; empty means /bin/sh -c
	forms bool     // accept a body that a form can send
}

// routes returns the handlers of the alias by pattern.
func (c *commands) routes() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /commands":            answering(c.run),
		"GET /commands":             answering(c.list),
		"GET /commands/{pid}":       answering(c.show),
		"GET /commands/{pid}/log":   answering(c.log),
		"POST /commands/{pid}/kill": answering(c.kill),
	}
}

// answering writes the error that a handler returns.
func answering(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			strict.WriteError(w, err)
		}
	})
}

// run starts a command and streams its lines. A failure before the first line is an error
// response; a later failure cuts the response without an end line.
func (c *commands) run(w http.ResponseWriter, r *http.Request) error {
	command, limit, err := c.readRequest(r)
	if err != nil {
		return err
	}
	shell := c.shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	p, sub, err := c.table.Start(Spec{
		Config:  &envd.ProcessConfig{Cmd: shell[0], Args: append(slices.Clone(shell[1:]), command)},
		Command: command, User: userOf(r.Context()), Sandbox: sandboxOf(r.Header), Limit: limit,
	})
	if err != nil {
		return startError(err)
	}
	defer sub.close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	out := &lineWriter{w: w}
	err = follow(r.Context(), &Stream{Process: p, Table: c.table, Sink: out, clock: c.own, sub: sub})
	if errors.Is(err, errLost) {
		_ = out.write(line{Type: "error", Code: connect.CodeResourceExhausted.String(), Message: err.Error()}, false)
	}
	if err != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to cut a response
	}
	return nil
}

// readRequest reads {"cmd","timeout_ms"}. With a token the content type does not
// matter, because the alias is meant for curl; without one it must not be a type
// that a page of any origin may send.
func (c *commands) readRequest(r *http.Request) (command string, limit time.Duration, err error) {
	if !c.forms && isForm(r.Header.Get("Content-Type")) {
		return "", 0, connect.NewError(connect.CodeInvalidArgument, errForm)
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "", 0, connect.NewError(connect.CodeUnimplemented, errors.New("the body must not be compressed"))
	}
	raw, err := strict.ReadBody(r.Body)
	if err != nil {
		return "", 0, err
	}
	var body struct {
		Cmd       *string         `json:"cmd"`
		TimeoutMS json.RawMessage `json:"timeout_ms"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&body); err != nil {
		return "", 0, notRequest(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", 0, invalid("the body holds more than one JSON value")
	}
	if body.Cmd == nil {
		return "", 0, invalid("cmd is missing: it must be a string")
	}
	limit, err = c.parseLimit(body.TimeoutMS)
	return *body.Cmd, limit, err
}

// notRequest is the error for a body that is not a request.
func notRequest(err error) error {
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typed) && typed.Field != "":
		return invalid("%s must be a string: got a JSON %s", typed.Field, typed.Value)
	case errors.As(err, &typed):
		return invalid("the body must be a JSON object {\"cmd\",\"timeout_ms\"}: got a JSON %s", typed.Value)
	}
	return invalid("the body is not JSON: %v", err)
}

// parseLimit reads timeout_ms: absent is the default, 0 is no limit.
func (c *commands) parseLimit(raw json.RawMessage) (time.Duration, error) {
	if raw == nil {
		return c.own.Real(defaultLimit), nil
	}
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || ms < 0 || ms > maxLimit {
		return 0, invalid("timeout_ms must be an integer from 0 to %d: got %.40s", int64(maxLimit), raw)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// commandInfo is one command in the response to GET. State is running, ending (killed but not yet
// dead, or its output is still held) or ended.
type commandInfo struct {
	PID       uint32     `json:"pid"`
	Cmd       string     `json:"cmd"`
	Args      []string   `json:"args,omitempty"`
	Tag       *string    `json:"tag,omitempty"`
	State     string     `json:"state"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	ExitCode  *int32     `json:"exit_code,omitempty"`
}

func infoOf(p *Process) commandInfo {
	info := commandInfo{PID: p.PID, Cmd: p.Command, Tag: p.Tag, State: "running", StartedAt: p.started}
	if p.Command == p.Config.GetCmd() {
		info.Args = p.Config.GetArgs()
	}
	if e := p.ending(); e != nil {
		info.State, info.EndedAt, info.ExitCode = "ended", &e.At, &e.Code
	} else if !p.isLive() {
		info.State = "ending"
	}
	return info
}

func (c *commands) list(w http.ResponseWriter, _ *http.Request) error {
	all := []commandInfo{}
	for _, p := range c.table.List() {
		all = append(all, infoOf(p))
	}
	return c.describe(w, map[string]any{"commands": all})
}

func (c *commands) show(w http.ResponseWriter, r *http.Request) error {
	p, err := c.named(r)
	if err != nil {
		return err
	}
	return c.describe(w, infoOf(p))
}

// describe writes commands.
func (c *commands) describe(w http.ResponseWriter, v any) error {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(text.Bytes())
	return ignoreGone(err)
}

func (c *commands) log(w http.ResponseWriter, r *http.Request) error {
	p, err := c.named(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err = w.Write(p.hub.logged())
	return ignoreGone(err)
}

func (c *commands) kill(w http.ResponseWriter, r *http.Request) error {
	sel, err := pathSelector(r)
	if err == nil {
		err = c.table.Kill(sel)
	}
	if err != nil {
		return processError(sel, err)
	}
	return writeJSON(w, struct{}{})
}

// named returns the process in the path, live or recently ended.
func (c *commands) named(r *http.Request) (*Process, error) {
	sel, err := pathSelector(r)
	if err != nil {
		return nil, err
	}
	p, err := c.table.Attach(sel)
	if err != nil {
		return nil, processError(sel, err)
	}
	return p, nil
}

// pathSelector reads {pid}. Text that is not a pid selects no process.
func pathSelector(r *http.Request) (Selector, error) {
	text := r.PathValue("pid")
	pid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return Selector{Tag: &text}, connect.NewError(connect.CodeNotFound, errors.New("process "+strconv.Quote(text)+" not found: a pid is a number"))
	}
	return Selector{PID: uint32(pid)}, nil
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return ignoreGone(json.NewEncoder(w).Encode(v))
}

// ignoreGone drops the error of a write to a client that has gone: nobody can receive it.
func ignoreGone(error) error { return nil }
