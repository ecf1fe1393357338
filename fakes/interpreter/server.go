package interpreter

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"assay/fakes/virtual"
)

// Options configure a Server.
type Options struct {
	// AfterFunc calls f in its own goroutine after d on the gateway's own clock.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	Policy    Policy
}

// Policy is how runs behave. The zero value is the reference.
type Policy struct {
	// Shared gives all contexts the variables of each other.
	Shared bool
	// KeepsEnv keeps the variables of one run's environment for later runs.
	KeepsEnv bool
	// Deserted lets a run go on after its client has gone.
	Deserted bool
	// AnyContext takes the default context for an unknown one.
	AnyContext bool
	// RefusesBusy refuses a call on a context that is busy for longer than half a second.
	RefusesBusy bool
	// KeepsState keeps variables and count over a restart.
	KeepsState bool
}

// Server serves the contexts and runs code in them. Its methods may be called from any goroutine.
type Server struct {
	options Options
	kernels kernels
	shared  shared
	maxHeap uint64
}

// New creates a server with the default context.
func New(o Options) *Server {
	s := &Server{options: o, kernels: kernels{byID: map[string]*kernel{}, defaults: map[string]*kernel{}}, maxHeap: virtual.MaxHeap}
	_, _ = s.kernels.byDefault(languages["python"]) // there is room for one
	return s
}

// Routes returns the handlers by pattern: POST /execute, and /contexts with what is below.
func (s *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /execute":               http.HandlerFunc(s.execute),
		"GET /contexts":               http.HandlerFunc(s.list),
		"POST /contexts":              http.HandlerFunc(s.create),
		"DELETE /contexts/{id}":       http.HandlerFunc(s.remove),
		"POST /contexts/{id}/restart": http.HandlerFunc(s.restart),
	}
}

// languages are the names of the interpreter. The empty name is that of the default.
var languages = map[string]string{"": "python", "python": "python", "starlark": "starlark"}

// languageOf returns the language that a name selects.
func languageOf(name string) (string, bool) {
	language, ok := languages[strings.ToLower(strings.TrimSpace(name))]
	return language, ok
}

func noKernel(w http.ResponseWriter, language string) {
	writeText(w, http.StatusInternalServerError, "Failed to create context: no such kernel: "+language)
}

func noContext(w http.ResponseWriter, id string) {
	writeText(w, http.StatusNotFound, "Context "+id+" not found")
}

// execute runs code, and answers with its lines.
func (s *Server) execute(w http.ResponseWriter, r *http.Request) {
	body := readObject(w, r)
	if body == nil {
		return
	}
	job := job{code: body.required("code"), env: body.texts("env_vars"), heap: s.maxHeap}
	id, language := body.text("context_id"), body.text("language")
	if body.refuses(w) {
		return
	}
	if id != "" && language != "" {
		writeText(w, http.StatusBadRequest, "Only one of context_id or language can be provided")
		return
	}
	k := s.selected(w, id, language)
	if k == nil {
		return
	}
	if s.options.Policy.RefusesBusy && !k.idle(r.Context(), busyLimit) {
		writeText(w, http.StatusServiceUnavailable, "Context "+k.ID+" is busy")
		return
	}
	w.Header()["Content-Type"] = nil // the real server declares none
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if http.NewResponseController(w).Flush() == nil {
		s.run(r.Context(), k, job, w)
	}
}

// busyLimit is how long a call waits for a busy context that refuses it.
const busyLimit = 500 * time.Millisecond

// Close interrupts all runs and removes all contexts.
func (s *Server) Close() {
	for _, k := range s.kernels.list() {
		s.kernels.remove(k.ID)
	}
}

// selected returns the kernel of a request, or answers that there is none.
func (s *Server) selected(w http.ResponseWriter, id, language string) *kernel {
	if id != "" {
		k := s.kernels.get(id)
		switch {
		case k == nil && !s.options.Policy.AnyContext:
			noContext(w, id)
		case k == nil:
			k, _ = s.kernels.byDefault(languages[""]) // it exists, because it is the first
		}
		return k
	}
	name, ok := languageOf(language)
	if !ok {
		noKernel(w, language)
		return nil
	}
	k, err := s.kernels.byDefault(name)
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error())
	}
	return k
}

// run waits for the kernel and runs the code. Whoever waits has only the head of the response.
func (s *Server) run(client context.Context, k *kernel, j job, w http.ResponseWriter) {
	if s.options.Policy.Deserted {
		client = context.WithoutCancel(client)
	}
	out := newLines(w, s.options.AfterFunc)
	defer out.close()
	life, state, err := k.acquire(client)
	if err != nil {
		if errors.Is(err, errRemoved) {
			_ = out.send(Line{Type: TypeError, Failure: interruption(err)}) // as below
			_ = out.send(Line{Type: TypeEnd})
		}
		return
	}
	defer k.release()
	ctx, cancel := context.WithCancelCause(client)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	if s.options.Policy.Shared {
		s.shared.lend(k, state)
		defer s.shared.take(k, state)
	}
	state.run(ctx, j, out, s.options.Policy.KeepsEnv)
	_ = out.send(Line{Type: TypeEnd}) // a client that has gone
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.kernels.list())
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	body := readObject(w, r)
	if body == nil {
		return
	}
	name, cwd := body.text("language"), body.text("cwd")
	if body.refuses(w) {
		return
	}
	language, ok := languageOf(name)
	if !ok {
		noKernel(w, name)
		return
	}
	k, err := s.kernels.create(language, cwd)
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, k)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); !s.kernels.remove(id) {
		noContext(w, id)
		return
	}
	writeJSON(w, http.StatusOK, nil)
}

func (s *Server) restart(w http.ResponseWriter, r *http.Request) {
	k := s.kernels.get(r.PathValue("id"))
	if k == nil {
		noContext(w, r.PathValue("id"))
		return
	}
	if !s.options.Policy.KeepsState {
		s.shared.forget(k)
		k.restart()
	}
	writeJSON(w, http.StatusOK, nil)
}
