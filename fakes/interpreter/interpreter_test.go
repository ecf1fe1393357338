package interpreter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// service is a server under test.
type service struct {
	*httptest.Server
	t *testing.T
}

func serve(t *testing.T, p Policy) *service {
	t.Helper()
	return serveServer(t, New(Options{AfterFunc: after, Policy: p}))
}

func serveServer(t *testing.T, of *Server) *service {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, h := range of.Routes() {
		mux.Handle(pattern, h)
	}
	s := &service{httptest.NewServer(mux), t}
	t.Cleanup(s.Close)
	return s
}

func after(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

// post sends a JSON value and returns the response, whose body the test's end closes.
func (s *service) post(ctx context.Context, path string, body any) *http.Response {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

type fields = map[string]any

// execute runs code and returns its lines.
func (s *service) execute(body fields) []fields {
	s.t.Helper()
	resp := s.post(s.t.Context(), "/execute", body)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("execute %v: %s: %s", body, resp.Status, text)
	}
	return linesOf(s.t, resp.Body)
}

func linesOf(t *testing.T, r io.Reader) []fields {
	t.Helper()
	var all []fields
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 8<<20)
	for scanner.Scan() {
		all = append(all, lineOf(t, scanner.Bytes()))
	}
	return all
}

func lineOf(t *testing.T, text []byte) fields {
	t.Helper()
	var l fields
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatalf("line %q: %v", text, err)
	}
	delete(l, "timestamp")
	return l
}

// brief describes lines: the type of each, with its text, value or count.
func brief(lines []fields) string {
	var words []string
	for _, l := range lines {
		kind, _ := l["type"].(string)
		parts := []string{kind}
		for _, name := range []string{"execution_count", "name", "text"} {
			if v, ok := l[name]; ok {
				text, _ := json.Marshal(v)
				parts = append(parts, string(text))
			}
		}
		words = append(words, strings.Join(parts, " "))
	}
	return strings.Join(words, "; ")
}

func TestWhatCodeAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, Policy{})
	for name, c := range map[string]struct{ code, want string }{
		"output":                         {`print("a", 1); print("b", end="")`, `stdout "a 1\n"; stdout "b"`},
		"the last expression":            {"x = 20\nx + 1", `result "21"`},
		"a text without quotes":          {`"a" + "b"`, `result "ab"`},
		"nothing for None":               {"None", ""},
		"stderr in four ways":            {`eprint("a"); stderr("b"); print("c", file=__import__("sys").stderr); _ = __import__("sys").stderr.write("d")`, `stderr "a\n"; stderr "b\n"; stderr "c\n"; stderr "d"`},
		"output before an error":         {"print(1)\n1//0\nprint(2)", `stdout "1\n"; error "ZeroDivisionError"`},
		"a name that is unknown":         {"nope", `error "NameError"`},
		"a key that is missing":          {`{}["k"]`, `error "KeyError"`},
		"an index that is out of range":  {`[][0]`, `error "IndexError"`},
		"types that do not fit":          {`1 + "a"`, `error "TypeError"`},
		"an attribute that is missing":   {`"".nope`, `error "AttributeError"`},
		"a method that is missing":       {`(1).join`, `error "AttributeError"`},
		"a text that is no number":       {`int("x")`, `error "ValueError"`},
		"an error of its own":            {`fail("no")`, `error "Exception"`},
		"code that does not parse":       {"1 +", `error "SyntaxError"`},
		"control flow at the top":        {"for i in range(3):\n  if i: print(i)\nwhile False: pass", `stdout "1\n"; stdout "2\n"`},
		"a display with its own text":    {`display(7, html="<b>")`, `result "7"`},
		"the environment":                {`print(env("HOME"), __import__("os").environ["E2B_SANDBOX"], __import__("os").getenv("NO", "-"))`, `stdout "/home/user true -\n"`},
		"an operator with an assignment": {"d = {'a': [1], 'b': 2, 'c': 'x'}\nd['a'] += [2]; d['b'] *= 3; d['c'] += 'y'; x = 1; x += 1; l = [1]; l[-1] += 1\nprint(d, x, l)", `stdout "{\"a\": [1, 2], \"b\": 6, \"c\": \"xy\"} 2 [2]\n"`},
		"an element that is changed":     {"d = {'a': [1]}\ne = d['a']\nd['a'] += [2]\nprint(e)", `stdout "[1, 2]\n"`},
		"methods":                        {`print("-".join(["a", "b"]), "aXa".replace("X", "-"), "{}!".format(1), "a b".split(), getattr("a", "upper")())`, `stdout "a-b a-a 1! [\"a\", \"b\"] A\n"`},
		"arguments in lists":             {"def f(*a, **k): return [a, k]\nprint(f(*[1, 2], **{'b': 3}), [x * 2 for x in [1, 2, 3][1:]], (lambda x: x + 1)(1))", `stdout "[(1, 2), {\"b\": 3}] [4, 6] 2\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{s.Server, t}
			made := s.newContext()
			got := brief(s.execute(fields{"code": c.code, "context_id": made}))
			want := "number_of_executions 1; " + c.want + "; end_of_execution"
			if c.want == "" {
				want = "number_of_executions 1; end_of_execution"
			}
			if got != want {
				t.Errorf("lines of %q:\ngot  %s\nwant %s", c.code, got, want)
			}
			s.del(made)
		})
	}
}

func (s *service) newContext() string {
	s.t.Helper()
	var made struct{ ID, Language, Cwd string }
	if err := json.NewDecoder(s.post(s.t.Context(), "/contexts", fields{}).Body).Decode(&made); err != nil {
		s.t.Fatal(err)
	}
	if made.ID == "" || made.Language != "python" || made.Cwd != "/home/user" {
		s.t.Fatalf("a new context is %+v", made)
	}
	return made.ID
}

func (s *service) del(id string) int {
	s.t.Helper()
	r, _ := http.NewRequestWithContext(s.t.Context(), http.MethodDelete, s.URL+"/contexts/"+id, nil)
	resp, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestTheErrorHasNameValueAndTraceback(t *testing.T) {
	t.Parallel()
	got := serve(t, Policy{}).execute(fields{"code": "def f():\n  return 1//0\nf()"})[1]
	want := "Traceback (most recent call last):\n  File \"cell 1\", line 3, in <toplevel>\n  File \"cell 1\", line 2, in f\nZeroDivisionError: floored division by zero"
	if got["value"] != "floored division by zero" || got["traceback"] != want {
		t.Errorf("the error is %v", got)
	}
}

// open starts a run and returns its lines as they come.
func (s *service) open(ctx context.Context, body fields) *bufio.Reader {
	s.t.Helper()
	return bufio.NewReader(s.post(ctx, "/execute", body).Body)
}

func next(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadBytes('\n')
	if err != nil {
		t.Fatalf("after %q: %v", text, err)
	}
	return brief([]fields{lineOf(t, text)})
}

func TestARestartInterruptsTheRunAndNotThoseThatWait(t *testing.T) {
	t.Parallel()
	s := serve(t, Policy{})
	id := s.newContext()
	first := s.open(t.Context(), fields{"code": "x = 1\nprint(x)\nsleep(3600)", "context_id": id})
	_, _ = next(t, first), next(t, first)
	second := s.open(t.Context(), fields{"code": "print(2)", "context_id": id}) // its head has come
	_ = s.post(t.Context(), "/contexts/"+id+"/restart", fields{})
	if got := next(t, first) + "; " + next(t, first); got != `error "ContextRestarting"; end_of_execution` {
		t.Errorf("the run: %s", got)
	}
	if got := next(t, second) + "; " + next(t, second); got != `number_of_executions 1; stdout "2\n"` {
		t.Errorf("the next: %s", got)
	}
}

func TestARemovalInterruptsTheRunAndThoseThatWait(t *testing.T) {
	t.Parallel()
	s := serve(t, Policy{})
	id := s.newContext()
	first := s.open(t.Context(), fields{"code": "print(1)\nsleep(3600)", "context_id": id})
	_, _ = next(t, first), next(t, first)
	second := s.open(t.Context(), fields{"code": "print(2)", "context_id": id})
	s.del(id)
	for name, r := range map[string]*bufio.Reader{"the run": first, "the next": second} {
		if got := next(t, r) + "; " + next(t, r); got != `error "ExecutionAborted"; end_of_execution` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestLinesHoldNoSeparatorOfLines(t *testing.T) {
	t.Parallel()
	resp := serve(t, Policy{}).post(t.Context(), "/execute", fields{"code": "print('a\u0085b\u2028c\u2029')"})
	text, _ := io.ReadAll(resp.Body)
	if bytes.ContainsAny(text, "\u0085\u2028\u2029") || !bytes.Contains(text, []byte(`"a\u0085b\u2028c\u2029\n"`)) {
		t.Errorf("%s", text)
	}
}

func TestASilenceHasKeepalives(t *testing.T) {
	t.Parallel()
	due := make(chan func(), 100)
	mux := http.NewServeMux()
	for pattern, h := range New(Options{AfterFunc: func(_ time.Duration, f func()) func() bool {
		due <- f
		return func() bool { return true }
	}}).Routes() {
		mux.Handle(pattern, h)
	}
	s := &service{httptest.NewServer(mux), t}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := s.open(ctx, fields{"code": "sleep(3600)"})
	_ = next(t, r)
	for range 2 {
		(<-due)()
		if got := next(t, r); got != "keepalive" {
			t.Errorf("got %s", got)
		}
	}
}
