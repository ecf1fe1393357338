package stdio

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"assay/fakes/virtual"
)

// The limits of a request.
const (
	maxQuery = 64 << 10 // bytes
	maxArgs  = 256
	maxName  = 64 // characters of a session or pane
)

// defaultSize is the size of a terminal that the client leaves open.
var defaultSize = virtual.Size{Cols: 80, Rows: 24}

// errNoCommand refuses a request without a command.
var errNoCommand = errors.New("cmd is missing or empty")

// role is what a client of a session may do.
type role string

// The roles.
const (
	driver        role = "driver"
	viewer        role = "viewer"
	collaborative role = "collaborative"
)

// request is the query of an attach.
type request struct {
	Command
	session string // "" is an anonymous one
	role    role
}

// isUpgrade reports whether a request wants a WebSocket. HTTP/2 has no upgrades.
func isUpgrade(r *http.Request) bool {
	return r.ProtoMajor == 1 && hasToken(r.Header.Values("Upgrade"), "websocket")
}

// hasToken reports whether a list field has a token.
func hasToken(values []string, token string) bool {
	for _, v := range values {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// checkHandshake checks what RFC 6455, section 4.2.1, requires of the request, before a command runs.
func checkHandshake(w http.ResponseWriter, r *http.Request) error {
	keys := r.Header.Values("Sec-WebSocket-Key")
	switch {
	case !r.ProtoAtLeast(1, 1):
		return refuse(http.StatusBadRequest, "a WebSocket needs HTTP/1.1")
	case r.Method != http.MethodGet:
		return refuse(http.StatusBadRequest, "a WebSocket needs GET")
	case !hasToken(r.Header.Values("Connection"), "Upgrade"):
		return refuse(http.StatusBadRequest, "Upgrade: websocket needs Connection: Upgrade")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		w.Header().Set("Sec-WebSocket-Version", "13")
		return refuse(http.StatusUpgradeRequired, "Sec-WebSocket-Version must be 13")
	case len(keys) != 1:
		return refuse(http.StatusBadRequest, "Sec-WebSocket-Key must be there once")
	}
	if key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0])); err != nil || len(key) != 16 {
		return refuse(http.StatusBadRequest, "Sec-WebSocket-Key must be 16 bytes in base64")
	}
	return nil
}

func refuse(status int, format string, args ...any) *Refusal {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// parse reads the query of a request. Unknown parameters are ignored: they may be a proxy's.
func (s *Server) parse(r *http.Request) (q request, err error) {
	if len(r.URL.RawQuery) > maxQuery {
		return q, refuse(http.StatusRequestURITooLong, "the query has more than %d bytes", maxQuery)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, refuse(http.StatusBadRequest, "the query is malformed: %v", err)
	}
	for _, name := range []string{"cmd", "sandbox", "pty", "cols", "rows", "session", "role"} {
		if len(values[name]) > 1 {
			return q, refuse(http.StatusBadRequest, "%s must be there at most once", name)
		}
	}
	q.Cmd, q.Args, q.Sandbox = values.Get("cmd"), values["arg"], values.Get("sandbox")
	if len(q.Args) > maxArgs {
		return q, refuse(http.StatusBadRequest, "%d arguments: at most %d are accepted", len(q.Args), maxArgs)
	}
	for _, read := range []func(url.Values) error{q.readSession, q.readTerminal} {
		if err := read(values); err != nil {
			return q, refuse(http.StatusBadRequest, "%v", err)
		}
	}
	if err := (virtual.Spec{Argv: append([]string{q.Cmd}, q.Args...)}).Check(); err != nil {
		return q, refuse(http.StatusBadRequest, "%v", err)
	}
	return q, s.permit(q, values)
}

// permit refuses features that are switched off, and a request that names nothing to attach to.
func (s *Server) permit(q request, values url.Values) error {
	switch {
	case q.PTY != nil && !s.has(FeaturePTY):
		return refuse(http.StatusBadRequest, "pty: this gateway has no terminals")
	case q.session != "" && !s.has(FeatureSession):
		return refuse(http.StatusBadRequest, "session: this gateway has no sessions")
	case values.Has("role") && !s.has(FeatureShared):
		return refuse(http.StatusBadRequest, "role: this gateway has no shared sessions")
	case q.Cmd == "" && q.session == "":
		return refuse(http.StatusBadRequest, "%v", errNoCommand)
	}
	return nil
}

// readSession reads session and role.
func (q *request) readSession(values url.Values) error {
	if values.Has("session") {
		q.session = values.Get("session")
		if !isName(q.session) {
			return fmt.Errorf("session %s", badName)
		}
	}
	q.role = collaborative
	if !values.Has("role") {
		return nil
	}
	q.role = role(values.Get("role"))
	switch q.role {
	case driver, viewer, collaborative:
	default:
		return errors.New("role must be driver, viewer or collaborative")
	}
	if q.session == "" {
		return errors.New("role needs a session")
	}
	return nil
}

// readTerminal reads pty, cols and rows.
func (q *request) readTerminal(values url.Values) error {
	size := defaultSize
	for _, length := range []struct {
		name string
		to   *uint32
	}{{"cols", &size.Cols}, {"rows", &size.Rows}} {
		if !values.Has(length.name) {
			continue
		}
		n, err := parseLength(values.Get(length.name))
		if err != nil {
			return fmt.Errorf("%s %w", length.name, err)
		}
		*length.to = n
	}
	switch values.Get("pty") {
	case "", "0":
	case "1":
		q.PTY = &size
	default:
		return errors.New("pty must be 0 or 1")
	}
	return nil
}

// badName is the error for a name that isName refuses.
var badName = fmt.Sprintf("must have 1 to %d characters, of A-Z a-z 0-9 . _ -", maxName)

// isName reports whether s can be the name of a session or a pane.
func isName(s string) bool {
	const legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return s != "" && len(s) <= maxName && strings.Trim(s, legal) == ""
}
