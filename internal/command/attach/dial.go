package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"connectrpc.com/connect"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// sandboxHeader names the sandbox to a gateway of several.
const sandboxHeader = "E2b-Sandbox-Id"

// route is one way to a command.
type route struct {
	target *target.Target
	socket bool
}

// open connects over the route. back is the link that was cut, nil for the first.
func (r *route) open(ctx context.Context, o *Options, back link, size Size) (link, error) {
	if r.socket {
		return o.dialSocket(ctx, r.target, back != nil, size)
	}
	pid := uint32(0)
	if before, ok := back.(*processLink); ok {
		pid = before.pid
	}
	return o.dialProcess(ctx, r.target, pid, size)
}

func (o *Options) scale() float64 {
	if o.Target.TimeScale > 0 {
		return o.Target.TimeScale
	}
	return 1
}

// routes returns the ways to the command that the URL allows, in the order in which they are tried.
func (o *Options) routes() ([]route, error) {
	base := o.Target
	if o.Sandbox != "" {
		base.Open = append(slices.Clone(base.Open), bundle.Header{Name: sandboxHeader, Value: o.Sandbox})
	}
	whole, err := target.New(base)
	if err != nil {
		return nil, err
	}
	if target.IsSocketURL(base.URL) {
		return []route{{whole, true}}, nil
	}
	var all []route
	if o.Over != OverProcess {
		if _, named := base.Paths["stdio"]; !named && whole.Path("", "") != "/" {
			itself := base
			itself.URL = "ws" + strings.TrimPrefix(strings.TrimRight(base.URL, "/"), "http")
			t, err := target.New(itself)
			if err != nil {
				return nil, err
			}
			all = append(all, route{t, true})
		}
		all = append(all, route{whole, true})
	}
	if o.Over != OverSocket {
		all = append(all, route{whole, false})
	}
	return all, nil
}

// dial connects over the first route that is there.
func (o *Options) dial(ctx context.Context, routes []route, size Size) (route, link, error) {
	var missing []string
	for _, r := range routes {
		l, err := r.open(ctx, o, nil, size)
		if err == nil {
			return r, l, nil
		}
		if ctx.Err() != nil {
			return r, nil, ctx.Err()
		}
		if !isMiss(err) {
			return r, nil, err
		}
		missing = append(missing, err.Error())
	}
	return route{}, nil, cannot(routes[0].target, o.Target.URL, strings.Join(missing, "; ")+".", o.mend(strings.Join(missing, " ")))
}

// mend says what to do where no surface is there.
func (o *Options) mend(why string) string {
	switch {
	case o.PTY && strings.Contains(why, " 400: pty"):
		return "--pty off runs the command without a terminal."
	case o.Over == OverSocket && !target.IsSocketURL(o.Target.URL):
		return "A gateway without WebSocket may have process.Process: leave --over out."
	}
	return "Is this the gateway's port, and its path? `assay doctor " + o.Target.URL + "` tells what is there."
}

// cannot is the error of a session that does not begin.
func cannot(t *target.Target, url, reason, mend string) error {
	return &target.UnreachableError{Doing: "attach to", URL: url, Reason: t.Redactor().Text(reason), Mend: mend}
}

// unreachable explains why no connection could be opened.
func (o *Options) unreachable(t *target.Target, err error) error {
	u := *t.Unreachable(rootOf(err))
	u.Doing, u.URL = "attach to", o.Target.URL
	return &u
}

const (
	mendToken  = "Give the access token with --token-file FILE or the variable ASSAY_TOKEN, and other credentials with --header-file FILE." //nolint:gosec // it names none
	mendScheme = "If the port speaks TLS, write https:// or wss://, with --cacert FILE or --insecure for a self-signed certificate."
)

// explainSocket explains why there is no WebSocket: a *miss where another surface may be.
func (o *Options) explainSocket(ctx context.Context, t *target.Target, response *http.Response, err error) error {
	at := "GET " + t.AttachPath("")
	if response == nil || response.Body == nil {
		if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return cannot(t, o.Target.URL, fmt.Sprintf("it does not respond to the request for a WebSocket within %v.", scaled(handshakeTimeout, o.scale())),
				"--time-scale extends every deadline.")
		}
		if strings.Contains(err.Error(), "malformed HTTP") {
			return cannot(t, o.Target.URL, "its response is not HTTP.", mendScheme)
		}
		if strings.Contains(err.Error(), "HTTP response to HTTPS client") {
			return cannot(t, o.Target.URL, "the port does not speak TLS.", "Write http:// or ws://.")
		}
		return o.unreachable(t, err)
	}
	said := words(response.Body)
	answer := fmt.Sprintf("%s returns %d%s", at, response.StatusCode, said)
	switch s := response.StatusCode; {
	case s == http.StatusSwitchingProtocols:
		return cannot(t, o.Target.URL, "its handshake is no WebSocket's: "+strings.TrimPrefix(err.Error(), "failed to WebSocket dial: ")+".", "")
	case s == http.StatusUnauthorized && o.Target.Token == "":
		return cannot(t, o.Target.URL, "it requires a token: "+answer+".", mendToken)
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return cannot(t, o.Target.URL, "it refuses the credentials: "+answer+".", "Check the token, and what it allows.")
	case strings.Contains(said, "HTTPS"):
		return cannot(t, o.Target.URL, "the port speaks TLS.", mendScheme)
	case s >= 500 && s != http.StatusNotImplemented || s == http.StatusTooManyRequests:
		return cannot(t, o.Target.URL, answer+".", "Try again later.")
	case s == http.StatusBadRequest:
		return &miss{"the WebSocket is refused (" + answer + ")"}
	}
	return &miss{"no WebSocket (" + answer + ")"}
}

// explainProcess explains why a process did not start.
func (o *Options) explainProcess(t *target.Target, err error) error {
	var c *connect.Error
	var lost *cut
	at := "POST " + t.Path("process", "process.Process/Start")
	switch {
	case errors.As(err, &lost):
		return cannot(t, o.Target.URL, lost.reason+".", "")
	case errors.Is(err, errNoStart):
		return cannot(t, o.Target.URL, at+": "+err.Error()+".", "`assay conform "+o.Target.URL+"` shows what the gateway does instead.")
	case !errors.As(err, &c):
		return o.unreachable(t, err)
	case c.Code() == connect.CodeUnauthenticated && o.Target.Token == "":
		return cannot(t, o.Target.URL, "it requires credentials: "+said(c)+".", mendToken)
	case c.Code() == connect.CodeUnauthenticated, c.Code() == connect.CodePermissionDenied:
		return cannot(t, o.Target.URL, "it refuses the credentials: "+said(c)+".", "Check the token, and what it allows.")
	case c.Code() == connect.CodeNotFound:
		return &miss{said(c)}
	case c.Code() == connect.CodeUnimplemented, c.Code() == connect.CodeUnknown && !connect.IsWireError(err), c.Code() == connect.CodeInternal && !connect.IsWireError(err):
		return &miss{fmt.Sprintf("no process.Process (%s: %s)", at, said(c))}
	case !connect.IsWireError(err):
		return o.unreachable(t, err)
	}
	return cannot(t, o.Target.URL, fmt.Sprintf("%s is refused: %s.", at, said(c)), "")
}

// said is what an RPC error says.
func said(c *connect.Error) string { return c.Code().String() + ": " + oneLine(c.Message()) }

// words returns what a response says, as the end of a sentence.
func words(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 1024)) // what came counts
	if line := oneLine(string(text)); line != "" && !strings.HasPrefix(line, "<") {
		return ": " + line
	}
	return ""
}

// mostWords limits what is quoted of a gateway, in characters.
const mostWords = 200

// oneLine returns a text of a stranger as a part of a line.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), unicode.IsSpace), " ")
	if r := []rune(text); len(r) > mostWords {
		text = string(r[:mostWords]) + "…"
	}
	return strings.TrimRight(text, ".")
}

// patience are the waits before the attempts to reconnect, together about the minute that a session of
// the reference gateway waits for its clients.
var patience = [...]time.Duration{
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
	8 * time.Second, 8 * time.Second, 8 * time.Second, 8 * time.Second, 8 * time.Second, 8 * time.Second,
}
