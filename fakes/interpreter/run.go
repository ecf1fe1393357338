package interpreter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"assay/fakes/virtual"
)

// maxSteps limits the instructions of a run: about a quarter of a second. A nested value takes Go stack for each of its levels when it is
// hashed or printed, and the stack of a goroutine may have 1 GB: a run makes less than a million levels.
const maxSteps = 5_000_000

// heapSteps is how often a run looks at the heap, in instructions.
const heapSteps = 10_000

// errMemory is why code ends for which there is no room.
const errMemory = "out of memory"

// bound ends a thread at maxSteps, or while the heap of this process is larger than a limit. One operation may still take more.
func bound(thread *starlark.Thread, heap uint64) {
	thread.OnMaxSteps = func(thread *starlark.Thread) {
		switch steps := thread.ExecutionSteps(); {
		case virtual.HeapSize() > heap:
			thread.Cancel(errMemory)
		case steps >= maxSteps:
			thread.Cancel("too many steps")
		default:
			thread.SetMaxExecutionSteps(steps + heapSteps)
		}
	}
	thread.OnMaxSteps(thread)
}

// job is the code of one run, the environment that it adds to that of its context, and the largest heap.
type job struct {
	code string
	env  map[string]string
	heap uint64
}

// state is what the runs of a context leave behind. One run at a time uses it.
type state struct {
	cwd     string
	globals starlark.StringDict
	// builtins are the globals of a new context.
	builtins starlark.StringDict
	environ  *starlark.Dict
	count    int // runs so far
}

func newState(cwd string) *state {
	s := &state{cwd: cwd, globals: starlark.StringDict{}, environ: new(starlark.Dict)}
	for name, value := range map[string]string{"HOME": defaultCwd, "PWD": cwd, "E2B_SANDBOX": "true"} {
		_ = s.environ.SetKey(starlark.String(name), starlark.String(value)) // a new dictionary takes it, here and below
	}
	s.builtins = newBuiltins(s.environ, cwd)
	maps.Copy(s.globals, s.builtins)
	return s
}

// setEnv adds variables to the environment, and returns what removes them again.
func (s *state) setEnv(env map[string]string) (restore func()) {
	before := map[string]starlark.Value{}
	for name, value := range env {
		if v, found, _ := s.environ.Get(starlark.String(name)); found {
			before[name] = v
		} else {
			before[name] = nil
		}
		_ = s.environ.SetKey(starlark.String(name), starlark.String(value))
	}
	return func() {
		for name, value := range before {
			if value == nil {
				_, _, _ = s.environ.Delete(starlark.String(name))
			} else {
				_ = s.environ.SetKey(starlark.String(name), value)
			}
		}
	}
}

// run is one run of code.
type run struct {
	ctx    context.Context
	out    *lines
	result starlark.Value // of the last expression
}

// runKey is the key of the run among the locals of its thread.
const runKey = "run"

func runOf(t *starlark.Thread) *run { r, _ := t.Local(runKey).(*run); return r }

// run runs code until its end, its first error, or the end of ctx, and sends all lines but
// the last.
func (s *state) run(ctx context.Context, j job, out *lines, keepsEnv bool) {
	s.count++
	if out.send(Line{Type: TypeCount, Count: s.count}) != nil {
		return
	}
	if restore := s.setEnv(j.env); !keepsEnv {
		defer restore()
	}
	r := &run{ctx: ctx, out: out}
	thread := &starlark.Thread{Name: fmt.Sprintf("cell %d", s.count)}
	thread.SetLocal(runKey, r)
	bound(thread, j.heap)
	defer context.AfterFunc(ctx, func() { thread.Cancel("interrupted") })()
	err := r.exec(thread, s, j.code)
	if err == nil && r.result != nil && r.result != starlark.None {
		err = r.sendResult(r.result, Line{Type: TypeResult, Formats: &Formats{}, Main: true})
	}
	if err != nil {
		_ = out.send(Line{Type: TypeError, Failure: failureOf(err, context.Cause(ctx))}) // a client that has gone
	}
}

// exec runs code in the state. The value of a last expression becomes the result.
func (r *run) exec(thread *starlark.Thread, s *state, code string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the interpreter failed: %v", p)
		}
	}()
	if err := checkNesting(code); err != nil {
		return err
	}
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
	file, err := options.Parse(thread.Name, code, 0)
	if err != nil {
		return err
	}
	if n := len(file.Stmts) - 1; n >= 0 {
		if last, ok := file.Stmts[n].(*syntax.ExprStmt); ok {
			at := syntax.Start(last)
			last.X = &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: fnResult}, Lparen: at, Args: []syntax.Expr{last.X}, Rparen: at}
		}
	}
	return starlark.ExecREPLChunk(file, thread, s.globals)
}

// fnResult is the function that takes the value of the last expression. No code can spell its name.
const fnResult = "="

// takeResult notes the value of the last expression.
func takeResult(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	runOf(t).result = args[0]
	return starlark.None, nil
}

// sendOutput sends a piece of stdout or stderr.
func (r *run) sendOutput(kind, text string) error {
	if text == "" {
		return nil
	}
	return r.out.send(Line{Type: kind, Text: &text, Timestamp: time.Now().UTC().Format(time.RFC3339Nano)})
}

// sendResult sends a result with the text of a value, without quotes around it.
func (r *run) sendResult(v starlark.Value, l Line) error {
	text, isText := starlark.AsString(v)
	if !isText {
		text = v.String()
	}
	l.Text = &text
	return r.out.send(l)
}

// interruption describes why somebody else than its client ended a run.
func interruption(cause error) *Failure {
	switch {
	case errors.Is(cause, errRestarting):
		return &Failure{Name: "ContextRestarting", Value: "Context was restarted"}
	case errors.Is(cause, errRemoved):
		return &Failure{Name: "ExecutionAborted", Value: "Context was removed"}
	}
	return &Failure{Name: "KeyboardInterrupt", Value: cause.Error()}
}

// failureOf describes an error of a run as Python does. cause is why the run was interrupted, if it was.
func failureOf(err, cause error) *Failure {
	if cause != nil {
		return interruption(cause)
	}
	f := &Failure{Name: nameOf(err), Value: strings.TrimPrefix(err.Error(), "fail: ")}
	var trace strings.Builder
	trace.WriteString("Traceback (most recent call last):\n")
	var eval *starlark.EvalError
	var parse syntax.Error
	var names resolve.ErrorList
	switch {
	case errors.As(err, &eval):
		for _, frame := range eval.CallStack {
			if line := frame.Pos.Line; frame.Pos.Filename() != "<builtin>" {
				fmt.Fprintf(&trace, "  File %q, line %d, in %s\n", frame.Pos.Filename(), line, frame.Name)
			}
		}
	case errors.As(err, &parse):
		fmt.Fprintf(&trace, "  File %q, line %d\n", parse.Pos.Filename(), parse.Pos.Line)
		f.Value = parse.Msg
	case errors.As(err, &names) && len(names) > 0:
		fmt.Fprintf(&trace, "  File %q, line %d\n", names[0].Pos.Filename(), names[0].Pos.Line)
		f.Value = names[0].Msg
	}
	f.Traceback = trace.String() + f.Name + ": " + f.Value
	return f
}

// errorNames are the names of Python's exceptions by a part of the interpreter's messages; the
// first that occurs counts.
var errorNames = []struct{ part, name string }{
	{"fail: ", "Exception"},
	{errMemory, "MemoryError"},
	{"excessive ", "MemoryError"},
	{"too large", "MemoryError"},
	{"by zero", "ZeroDivisionError"},
	{"not in dict", "KeyError"},
	{"out of range", "IndexError"},
	{"field or method", "AttributeError"},
	{"undefined: ", "NameError"},
	{"referenced before assignment", "NameError"},
	{"called recursively", "RecursionError"},
	{"invalid literal", "ValueError"},
	{"values to unpack", "ValueError"},
	{"unknown binary op", "TypeError"},
	{"want ", "TypeError"},
	{"argument", "TypeError"},
	{"not iterable", "TypeError"},
	{"invalid call of non-function", "TypeError"},
	{"unhashable", "TypeError"},
}

// nameOf returns the name of Python's exception for an error.
func nameOf(err error) string {
	var parse syntax.Error
	var names resolve.ErrorList
	switch {
	case errors.Is(err, errOutput):
		return "MemoryError"
	case errors.As(err, &parse), errors.As(err, &names) && !strings.Contains(err.Error(), "undefined: "):
		return "SyntaxError"
	}
	for _, e := range errorNames {
		if strings.Contains(err.Error(), e.part) {
			return e.name
		}
	}
	return "RuntimeError"
}
