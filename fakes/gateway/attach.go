package gateway

import (
	"context"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/stdio"
	"assay/fakes/strict"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// attachPatience is how long an attached process waits while its client takes nothing, on the gateway's own clock: as long as such a client is kept.
const attachPatience = 60 * time.Second

// attachPath is the path of the stdio surface.
const attachPath = "/attach"

// attach runs the commands of the stdio surface in the table.
type attach struct {
	table Table
	own   clock
	shell []string
}

// caller returns what starts the commands of a request.
func (a *attach) caller(r *http.Request) stdio.Start {
	user, named := userOf(r.Context()), sandboxOf(r.Header)
	return func(c stdio.Command) (stdio.Process, error) {
		if words := append([]string{c.Cmd}, c.Args...); !beginsWith(words, a.shell) {
			return nil, &stdio.Refusal{Status: http.StatusBadRequest, Reason: "the command must begin with " + strings.Join(a.shell, " ")}
		}
		sandbox := c.Sandbox
		if sandbox == "" {
			sandbox = named
		}
		p, sub, err := a.table.Start(Spec{
			Config: &envd.ProcessConfig{Cmd: c.Cmd, Args: c.Args}, Command: c.Cmd, User: user, Sandbox: sandbox,
			Stdin: true, PTY: c.PTY, Raw: true, Patience: a.own.Real(attachPatience),
		})
		if err != nil {
			return nil, attachRefusal(err)
		}
		return &attached{p: p, sub: sub, table: a.table, own: a.own}, nil
	}
}

// beginsWith reports whether words begin with others.
func beginsWith(words, first []string) bool {
	return len(words) >= len(first) && slices.Equal(words[:len(first)], first)
}

// attachRefusal converts a failure to start a process.
func attachRefusal(err error) error {
	if reason, ok := spawnReason(err); ok {
		return &stdio.Refusal{Status: http.StatusBadRequest, Reason: reason}
	}
	if connect.CodeOf(err) == connect.CodeResourceExhausted {
		return &stdio.Refusal{Status: http.StatusServiceUnavailable, Reason: err.Error()}
	}
	return err
}

// attached is a process of the table on the stdio surface.
type attached struct {
	p     *Process
	sub   *Subscriber
	table Table
	own   clock
}

var _ stdio.Process = (*attached)(nil)

func (a *attached) Follow(out func(stderr bool, data []byte)) (code int, err error) {
	defer a.sub.close()
	err = follow(context.Background(), &Stream{Process: a.p, Table: a.table, sub: a.sub, clock: a.own, Sink: EventSinkFunc(func(e Event) error {
		switch e.Kind {
		case EventData:
			out(e.Chunk.Stream == virtual.Stderr, e.Chunk.Data)
		case EventEnd:
			code = a.exitCode(e.End)
		default: // the first message is output, or the end
		}
		return nil
	})})
	return code, err
}

// exitCode returns the exit code of a shell: 128+n after signal n.
func (a *attached) exitCode(e Ending) int {
	if sig := a.p.Status().Signal; !e.Exited && sig != 0 {
		return 128 + int(sig)
	}
	return int(e.Code)
}

func (a *attached) Write(ctx context.Context, data []byte) error { return a.p.input.Write(ctx, data) }

func (a *attached) CloseStdin() { a.p.input.CloseStdin() }

func (a *attached) Resize(to virtual.Size) error {
	err := a.p.run.Resize(to)
	if err != nil && hasExited(a.p) {
		return virtual.ErrEnded
	}
	return err
}

// Signal sends a signal by the rules of SendSignal, which knows fewer.
func (a *attached) Signal(sig syscall.Signal) {
	if !a.p.isLive() {
		return // its pid may be another's
	}
	sel := Selector{PID: a.p.PID}
	switch sig {
	case syscall.SIGKILL:
		_ = a.table.Kill(sel) // it may have ended, here and below
	case syscall.SIGTERM:
		_ = a.table.Terminate(sel)
	default:
		_ = a.table.Signal(sel, sig)
	}
}

// The bodies of the refusals of the stdio surface, which browsers and their proxies know.
const (
	noToken  = "Unauthorized"
	badToken = "Invalid token"
)

// overStdio puts the authorization in front of the stdio surface.
func (a authorizer) overStdio(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal := a.checkCredential(r); refusal != "" {
			stdio.WriteText(w, http.StatusUnauthorized, refusal)
			return
		}
		named, err := a.identify(r)
		if err != nil {
			stdio.WriteText(w, http.StatusUnauthorized, strict.AsError(err).Message())
			return
		}
		next.ServeHTTP(w, named)
	})
}

// checkCredential checks the first of: the parameter token, Authorization: Bearer, X-Access-Token. A browser cannot set a header of a WebSocket. It returns
// the body of a refusal.
func (a authorizer) checkCredential(r *http.Request) (refusal string) {
	token := a.Token()
	if token == "" {
		return ""
	}
	got := r.Header.Get("X-Access-Token")
	if scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		got = strings.TrimSpace(rest)
	}
	if q := r.URL.Query(); q.Has("token") {
		got = q.Get("token")
	}
	switch {
	case got == "":
		return noToken
	case subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1:
		return badToken
	}
	return ""
}
