package zoo

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"assay/fakes/gateway"
	"assay/fakes/interpreter"
)

// executeFaults returns the faults of code execution.
func executeFaults() []fault {
	return append(executeLineFaults(), executeContextFaults()...)
}

// executeLineFaults returns the faults in the lines of an execution.
func executeLineFaults() []fault {
	return []fault{
		{Fault{
			ID:     "execute-end-missing",
			Title:  "The response ends without end_of_execution",
			Breaks: []string{"execute.stream.end-last"},
			Source: "E2B#921; the JavaScript client takes a response without an end for a success",
		}, eachCell(func(c cell, next func(cell)) {
			if c.kind != interpreter.TypeEnd {
				next(c)
			}
		})},
		{Fault{
			ID:     "execute-result-none",
			Title:  "Code without a value has the result None",
			Breaks: []string{"execute.result.none"},
			Source: "hand-written interpreters that show what exec returns",
		}, onCells(resultNone)},
		{Fault{
			ID:     "execute-output-collected",
			Title:  "All lines are sent when the code has ended",
			Breaks: []string{"execute.stream.at-once"},
			Source: "proxies that buffer responses; servers that wait for the reply of the kernel",
		}, onCells(func() func(cell, func(cell)) {
			var held []cell
			return func(c cell, next func(cell)) {
				if held = append(held, c); c.kind == interpreter.TypeEnd {
					for _, c := range held {
						next(c)
					}
				}
			}
		})},
		{Fault{
			ID:     "execute-traceback-null",
			Title:  "The traceback of an error is null",
			Breaks: []string{"execute.error.members"},
			Source: "OpenSandbox#700",
		}, eachCell(func(c cell, next func(cell)) { next(c.set(interpreter.TypeError, "traceback", nil)) })},
		{Fault{
			ID:     "execute-blank-lines",
			Title:  "An empty line follows every line",
			Breaks: []string{"execute.line.blank"},
			Source: "litellm#30898: lines that are no event break parsers",
		}, eachCell(func(c cell, next func(cell)) {
			c.raw = append(bytes.Clone(c.raw), '\n')
			next(c)
		})},
		{Fault{
			ID:     "execute-count-twice",
			Title:  "The number of executions is sent again at the end",
			Breaks: []string{"execute.stream.count-first"},
			Source: "servers that pass on both execute_input and execute_reply of the kernel",
		}, onCells(func() func(cell, func(cell)) {
			var count cell
			return func(c cell, next func(cell)) {
				if c.kind == interpreter.TypeCount {
					count = c
				} else if c.kind == interpreter.TypeEnd && count.raw != nil {
					next(count)
				}
				next(c)
			}
		})},
		{Fault{
			ID:     "execute-output-limited",
			Title:  "Output beyond 256 KiB of a run is lost",
			Breaks: []string{"execute.output.complete"},
			Source: "OpenSandbox#1016: uploads above 18 kB are lost; kernels with a limit of output per run",
		}, onCells(func() func(cell, func(cell)) {
			n := 0
			return func(c cell, next func(cell)) {
				if n += len(c.raw); n < 256<<10 || c.kind != interpreter.TypeStdout {
					next(c)
				}
			}
		})},
		{Fault{
			ID:     "execute-streams-mixed",
			Title:  "stderr is sent as stdout",
			Breaks: []string{"execute.output.streams-apart"},
			Source: "servers that ignore the name of the kernel's stream",
		}, eachCell(func(c cell, next func(cell)) { next(c.set(interpreter.TypeStderr, "type", interpreter.TypeStdout)) })},
		{Fault{
			ID:     "execute-text-quoted",
			Title:  "The text of a result that is a text has quotes",
			Breaks: []string{"execute.result.text"},
			Source: "servers that pass on text/plain of the kernel, which is what repr returns",
		}, eachCell(func(c cell, next func(cell)) {
			if text, ok := c.fields()["text"].(string); ok && strings.Trim(text, "0123456789.-") != "" {
				c = c.set(interpreter.TypeResult, "text", "'"+text+"'")
			}
			next(c)
		})},
		{Fault{
			ID:     "execute-error-as-500",
			Title:  "An error of the code is HTTP 500",
			Breaks: []string{"execute.error.reported"},
			Source: "hand-written servers that treat an exception of the code as their own",
		}, onExecute(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(&failingWriter{writer: writer{w}}, r)
		})},
	}
}

// executeContextFaults returns the faults in contexts and requests.
func executeContextFaults() []fault {
	policy := func(change func(p *interpreter.Policy)) func(*build) {
		return func(b *build) { change(&b.Seams.Interpreter) }
	}
	return []fault{
		{Fault{
			ID:     "execute-contexts-shared",
			Title:  "All contexts have the same variables",
			Breaks: []string{"execute.context.apart"},
			Source: "servers with one kernel for each language",
		}, policy(func(p *interpreter.Policy) { p.Shared = true })},
		{Fault{
			ID:     "execute-busy-after-client",
			Title:  "Code runs on after its client has gone, and holds up the next run",
			Breaks: []string{"execute.client.frees"},
			Source: "code-interpreter#213, code-interpreter#278",
		}, policy(func(p *interpreter.Policy) { p.Deserted = true })},
		{Fault{
			ID:     "execute-env-stays",
			Title:  "Variables of env_vars stay in the environment",
			Breaks: []string{"execute.env.one-run"},
			Source: "servers that set os.environ of the kernel and do not restore it",
		}, policy(func(p *interpreter.Policy) { p.KeepsEnv = true })},
		{Fault{
			ID:     "execute-restart-idle",
			Title:  "A restart is answered with 200 and does nothing",
			Breaks: []string{"execute.context.restart", "execute.context.restart-ends"},
			Source: "openkruise/agents#741: DELETE 204 without deleting",
		}, policy(func(p *interpreter.Policy) { p.KeepsState = true })},
		{Fault{
			ID:     "execute-unknown-context",
			Title:  "Code for an unknown context runs in the default one",
			Breaks: []string{"execute.context.unknown"},
			Source: "servers that look up a context with a default value",
		}, policy(func(p *interpreter.Policy) { p.AnyContext = true })},
		{Fault{
			ID:     "execute-busy-refused",
			Title:  "A call on a busy context gets 503",
			Breaks: []string{"execute.order.one-at-a-time"},
			Source: "servers that try the lock of a kernel for half a second",
		}, policy(func(p *interpreter.Policy) { p.RefusesBusy = true })},
		{Fault{
			ID:     "execute-code-guessed",
			Title:  "Code that is a number is treated as its text",
			Breaks: []string{"execute.request.refused"},
			Source: "Dormice: string code; servers in languages that convert types silently",
		}, onExecute(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // the rest is no JSON then
			var fields map[string]json.RawMessage
			if json.Unmarshal(body, &fields) == nil && len(fields["code"]) > 0 && strings.Contains("-0123456789", string(fields["code"][:1])) {
				fields["code"], _ = json.Marshal(string(fields["code"]))
				body, _ = json.Marshal(fields)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})},
	}
}

// executeVariants returns the legal differences in code execution.
func executeVariants() []variant {
	return []variant{
		{Variant{
			ID:     "execute-crlf",
			Area:   "execute",
			Title:  "The lines of an execution end with CRLF",
			Source: "JSON: white space is insignificant; the clients of E2B tolerate it",
		}, eachCell(func(c cell, next func(cell)) {
			c.raw = append(bytes.TrimSuffix(bytes.Clone(c.raw), []byte("\n")), "\r\n"...)
			next(c)
		})},
		{Variant{
			ID:     "execute-other-lines",
			Area:   "execute",
			Title:  "Lines of an unknown type come between the others",
			Source: "the clients of E2B ignore types that they do not know",
		}, eachCell(func(c cell, next func(cell)) {
			if next(c); c.kind == interpreter.TypeCount || c.kind == interpreter.TypeResult {
				next(cell{kind: "status", raw: []byte(`{"type":"status","state":"busy"}` + "\n")})
			}
		})},
		{Variant{
			ID:     "execute-output-in-characters",
			Area:   "execute",
			Title:  "Output is sent in a line for each character, without a timestamp",
			Source: "the kernel may cut output anywhere",
		}, eachCell(func(c cell, next func(cell)) {
			text, _ := c.fields()["text"].(string)
			if len(text) > 1000 || c.kind != interpreter.TypeStdout && c.kind != interpreter.TypeStderr {
				next(c)
				return
			}
			for _, char := range text {
				raw, _ := json.Marshal(map[string]string{"type": c.kind, "text": string(char)}) // texts have JSON
				raw = bytes.ReplaceAll(raw, []byte("\u0085"), []byte(`\u0085`))
				next(cell{kind: c.kind, raw: append(raw, '\n')})
			}
		})},
	}
}

// cell is one line of an execution.
type cell struct {
	kind string
	raw  []byte // with its newline
}

// fields returns the members of the line.
func (c cell) fields() map[string]any {
	var m map[string]any
	_ = json.Unmarshal(c.raw, &m) // the reference wrote it
	return m
}

// set changes a member of the lines of one kind.
func (c cell) set(kind, name string, value any) cell {
	if c.kind != kind {
		return c
	}
	m := c.fields()
	m[name] = value
	raw, _ := json.Marshal(m) // it was JSON before
	return cell{kind: c.kind, raw: append(raw, '\n')}
}

// resultNone sends a result at the end of a run that has none.
func resultNone() func(cell, func(cell)) {
	seen := false
	return func(c cell, next func(cell)) {
		seen = seen || c.kind == interpreter.TypeResult || c.kind == interpreter.TypeError
		if c.kind == interpreter.TypeEnd && !seen {
			next(cell{kind: interpreter.TypeResult, raw: []byte(`{"type":"result","text":"None","is_main_result":true}` + "\n")})
		}
		next(c)
	}
}

// onExecute decorates POST /execute.
func onExecute(serve middleware) func(*build) {
	return onSurface(gateway.SurfaceExecute, middleware(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/execute") {
			serve(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}).over)
}

// eachCell changes every line alone: it passes on any number of lines for it.
func eachCell(change func(c cell, next func(cell))) func(*build) {
	return onCells(func() func(cell, func(cell)) { return change })
}

// onCells changes the lines of each execution; each returns what changes those of one.
func onCells(each func() func(c cell, next func(cell))) func(*build) {
	return onExecute(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cellWriter{writer: writer{w}, change: each()}, r)
	})
}

// cellOf returns the line that a write of the reference is; it writes each line at once.
func cellOf(p []byte) (c cell, ok bool) {
	rest, ok := bytes.CutPrefix(p, []byte(`{"type":"`))
	kind, _, whole := bytes.Cut(rest, []byte(`"`))
	return cell{kind: string(kind), raw: p}, ok && whole
}

// cellWriter changes the lines of one execution.
type cellWriter struct {
	writer
	change func(c cell, next func(cell))
}

func (w *cellWriter) Write(p []byte) (n int, err error) {
	c, ok := cellOf(p)
	if !ok {
		return w.ResponseWriter.Write(p)
	}
	w.change(c, func(c cell) {
		if err == nil {
			_, err = w.ResponseWriter.Write(c.raw)
		}
	})
	return len(p), err
}

// failingWriter holds the head back until the second line; if that is an error, the status is 500.
type failingWriter struct {
	writer
	status int // that is held back
	first  []byte
	failed bool
}

func (w *failingWriter) WriteHeader(status int) {
	if status == http.StatusOK {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *failingWriter) Write(p []byte) (int, error) {
	c, ok := cellOf(p)
	switch {
	case w.failed:
		return len(p), nil
	case w.status == 0 || !ok:
		return w.ResponseWriter.Write(p)
	case c.kind == interpreter.TypeCount:
		w.first = bytes.Clone(p)
		return len(p), nil
	case c.kind == interpreter.TypeError:
		w.failed = true
		w.Header().Set("Content-Type", "text/plain")
		w.ResponseWriter.WriteHeader(http.StatusInternalServerError)
		_, err := io.WriteString(w.ResponseWriter, "execution failed\n")
		return len(p), err
	}
	w.ResponseWriter.WriteHeader(w.status)
	w.status = 0
	if _, err := w.ResponseWriter.Write(w.first); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// FlushError flushes unless the head is held back.
func (w *failingWriter) FlushError() error {
	if w.status != 0 && !w.failed {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}
