package zoo

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/strict"
	"assay/fakes/virtual"
	"assay/internal/envd/process/processconnect"
)

// refusePreface responds to the preface of HTTP/2 as to an unknown HTTP method.
func refusePreface(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == "PRI" {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	next.ServeHTTP(w, r)
}

// envdHealth is the daemon's health check.
func envdHealth(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.URL.Path != "/health" {
		next.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if _, err := gateway.WithUser(r); err != nil {
		strict.WriteError(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "")
	w.WriteHeader(http.StatusNoContent)
}

// numberedTokenError checks the token before anything else, and refuses in the
// daemon's own format.
func numberedTokenError(token string) middleware {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		got := r.Header.Get("X-Access-Token")
		if token == "" || checksItself(r) || subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1 {
			next.ServeHTTP(w, r)
			return
		}
		strict.LimitRest(w)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		// A failed write means that the client has gone.
		_ = json.NewEncoder(w).Encode(map[string]any{
			"code":    http.StatusUnauthorized,
			"message": "unauthorized access, please provide a valid access token or method signing if supported",
		})
	}
}

// checksItself reports whether a request needs no token, or is for a route that
// checks it in its own way.
func checksItself(r *http.Request) bool {
	switch r.URL.Path {
	case "/health", "/files", "/init":
		return true
	}
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// crashOnKeepalive ends the whole gateway at an interval that no ticker
// accepts, once the stream has begun: every connection is cut, the listener
// closes, and the processes end.
func crashOnKeepalive(b *build) {
	all := sandboxesOf(b)
	onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n, err := strconv.Atoi(strings.TrimSpace(r.Header.Get("Keepalive-Ping-Interval")))
		starts := r.URL.Path == processconnect.ProcessStartProcedure || r.URL.Path == processconnect.ProcessConnectProcedure
		server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
		if err == nil && n <= 0 && starts && r.Method == http.MethodPost && ok {
			_ = server.Close()
			for _, box := range all() {
				box.KillAll()
			}
		}
		next.ServeHTTP(w, r)
	})(b)
}

// onDaemonErrors changes the errors of the process service.
func onDaemonErrors(change func(error) error) func(*build) {
	return onProcedureErrors(func(_ string, err error) error { return change(err) })
}

// recode gives an error another code, and keeps what it wraps.
func recode(err error, code connect.Code) error {
	var e *connect.Error
	if errors.As(err, &e) {
		return connect.NewError(code, e.Unwrap())
	}
	return connect.NewError(code, err)
}

// missingUnimplemented is the default case of the daemon's type switches.
func missingUnimplemented(err error) error {
	if errors.Is(err, gateway.ErrNoSelector) || errors.Is(err, gateway.ErrUnknownSignal) || errors.Is(err, gateway.ErrNoInput) {
		return recode(err, connect.CodeUnimplemented)
	}
	return err
}

// inputInternal wraps whatever a write returned.
func inputInternal(err error) error {
	for _, cause := range []error{virtual.ErrStdinClosed, virtual.ErrBrokenPipe, gateway.ErrStdinOfTerminal, gateway.ErrNoTerminal} {
		if errors.Is(err, cause) {
			return recode(err, connect.CodeInternal)
		}
	}
	return err
}

// closeUnknown returns an error that has no code.
func closeUnknown(err error) error {
	if errors.Is(err, gateway.ErrCloseTerminal) {
		return recode(err, connect.CodeUnknown)
	}
	return err
}

// streamInputUnknown wraps the error of a stream without its code.
func streamInputUnknown(procedure string, err error) error {
	if procedure == processconnect.ProcessStreamInputProcedure && connect.CodeOf(err) == connect.CodeInvalidArgument {
		return recode(err, connect.CodeUnknown)
	}
	return err
}

// dataBeforeStartCuts simulates a nil pointer panic that net/http recovers
// from.
func dataBeforeStartCuts(err error) error {
	if errors.Is(err, gateway.ErrDataBeforeStart) {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to cut a response
	}
	return err
}

// shuffled lists processes unordered.
func shuffled(next gateway.Table) gateway.Table { return unordered{next} }

type unordered struct{ gateway.Table }

func (u unordered) List() []*gateway.Process {
	all := u.Table.List()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// stopAtAnotherTag ends the search for a tag at the first process with another
// tag.
func stopAtAnotherTag(all []*gateway.Process, tag string) *gateway.Process {
	for i, p := range all {
		if p.Tag != nil && *p.Tag != tag {
			all = all[:i]
			break
		}
	}
	return gateway.Youngest(slices.Values(all), tag)
}

// onSurface changes a surface.
func onSurface(name gateway.Surface, change func(next http.Handler) http.Handler) func(*build) {
	return func(b *build) {
		inner := b.Seams.Surface
		b.Seams.Surface = func(s gateway.Surface, next http.Handler) http.Handler {
			if inner != nil {
				next = inner(s, next)
			}
			if s == name && next != nil {
				return change(next)
			}
			return next
		}
	}
}

// without removes a surface.
func without(name gateway.Surface) func(*build) {
	return onSurface(name, func(http.Handler) http.Handler { return nil })
}
