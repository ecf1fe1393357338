package interpreter

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	starlarkjson "go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// builtinFunc is the body of a builtin.
type builtinFunc func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

func builtin(name string, f builtinFunc) *starlark.Builtin { return starlark.NewBuiltin(name, f) }

// newBuiltins returns the globals of a new context.
func newBuiltins(environ *starlark.Dict, cwd string) starlark.StringDict {
	return starlark.StringDict{
		"print":      builtin("print", printTo(TypeStdout)),
		"eprint":     builtin("eprint", printTo(TypeStderr)),
		"stderr":     builtin("stderr", printTo(TypeStderr)),
		"display":    builtin("display", display),
		"sleep":      builtin("sleep", sleep),
		"env":        builtin("env", getenv(environ)),
		"os_environ": environ,
		"__import__": builtin("__import__", importer(modules(environ, cwd))),
		fnResult:     builtin(fnResult, takeResult),
	}
}

// modules are those of Python's that code may import, with the few members that scripts need.
func modules(environ *starlark.Dict, cwd string) map[string]*starlarkstruct.Module {
	module := func(name string, members starlark.StringDict) *starlarkstruct.Module {
		return &starlarkstruct.Module{Name: name, Members: members}
	}
	stream := func(kind string) *starlarkstruct.Module {
		return module(kind, starlark.StringDict{"write": builtin("write", write(kind)), "flush": builtin("flush", nothing)})
	}
	return map[string]*starlarkstruct.Module{
		"time": module("time", starlark.StringDict{"sleep": builtin("sleep", sleep), "time": builtin("time", now)}),
		"sys":  module("sys", starlark.StringDict{"stdout": stream(TypeStdout), "stderr": stream(TypeStderr)}),
		"os": module("os", starlark.StringDict{
			"environ": environ, "getenv": builtin("getenv", getenv(environ)),
			"getcwd": builtin("getcwd", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
				return starlark.String(cwd), nil
			}),
		}),
		"json": module("json", starlark.StringDict{
			"dumps": starlarkjson.Module.Members["encode"], "loads": starlarkjson.Module.Members["decode"],
		}),
		"math": math.Module,
	}
}

// importer returns __import__, which names a module in an expression as Python does.
func importer(all map[string]*starlarkstruct.Module) builtinFunc {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var name string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &name); err != nil {
			return nil, err
		}
		if m := all[name]; m != nil {
			return m, nil
		}
		return nil, fmt.Errorf("no module named %q", name)
	}
}

// printTo returns print, which writes to the stream unless file names another.
func printTo(kind string) builtinFunc {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		separator, end, flush := " ", "\n", false
		var file *starlarkstruct.Module
		if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "sep?", &separator, "end?", &end, "file?", &file, "flush?", &flush); err != nil {
			return nil, err
		}
		r, stream := runOf(t), kind
		if file != nil {
			stream = file.Name
		}
		if stream != TypeStdout && stream != TypeStderr {
			return nil, fmt.Errorf("print: file: got module %s, want sys.stdout or sys.stderr", file.Name)
		}
		words := make([]string, len(args))
		for i, arg := range args {
			words[i] = textOf(arg)
		}
		return starlark.None, r.sendOutput(stream, strings.Join(words, separator)+end)
	}
}

// textOf returns the text of a value as print shows it.
func textOf(v starlark.Value) string {
	if text, ok := starlark.AsString(v); ok {
		return text
	}
	return v.String()
}

// write returns the method write of a stream.
func write(kind string) builtinFunc {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var text string
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &text); err != nil {
			return nil, err
		}
		return starlark.MakeInt(len([]rune(text))), runOf(t).sendOutput(kind, text)
	}
}

func nothing(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, nil
}

// display sends a result with the given forms beside its text.
func display(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var f Formats
	var v, data, chart, extra, object starlark.Value
	v = starlark.String("")
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "value?", &v, "html?", &f.HTML, "markdown?", &f.Markdown, "svg?", &f.SVG,
		"png?", &f.PNG, "jpeg?", &f.JPEG, "pdf?", &f.PDF, "latex?", &f.LaTeX, "javascript?", &f.JavaScript,
		"json?", &object, "data?", &data, "chart?", &chart, "extra?", &extra); err != nil {
		return nil, err
	}
	for _, m := range []struct {
		from starlark.Value
		to   *json.RawMessage
	}{{object, &f.JSON}, {data, &f.Data}, {chart, &f.Chart}, {extra, &f.Extra}} {
		if m.from == nil {
			continue
		}
		text, err := starlark.Call(t, starlarkjson.Module.Members["encode"], starlark.Tuple{m.from}, nil)
		if err != nil {
			return nil, err
		}
		*m.to = json.RawMessage(textOf(text))
	}
	return starlark.None, runOf(t).sendResult(v, Line{Type: TypeResult, Formats: &f})
}

// sleep waits, unless the run is interrupted.
func sleep(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "seconds", &v); err != nil {
		return nil, err
	}
	seconds, ok := starlark.AsFloat(v)
	if !ok || !(seconds >= 0) {
		return nil, fmt.Errorf("sleep: got %s, want a number of seconds that is not negative", v.Type())
	}
	const longest = 24 * 60 * 60
	timer := time.NewTimer(time.Duration(min(seconds, longest) * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return starlark.None, nil
	case <-runOf(t).ctx.Done():
		return nil, fmt.Errorf("interrupted: %w", runOf(t).ctx.Err())
	}
}

// now returns the time in seconds, as Python's time.time does.
func now(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.Float(float64(time.Now().UnixNano()) / float64(time.Second)), nil
}

// getenv returns the function that reads a variable of the environment: None if it is not set,
// unless a default is given.
func getenv(environ *starlark.Dict) builtinFunc {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var name starlark.String
		var otherwise starlark.Value = starlark.None
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "key", &name, "default?", &otherwise); err != nil {
			return nil, err
		}
		if v, ok, err := environ.Get(name); ok || err != nil {
			return v, err
		}
		return otherwise, nil
	}
}
