package controlplane

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/fakes/files"
	"assay/fakes/strict"
)

// The headers that name a sandbox and a port of it.
const (
	headerID   = "E2b-Sandbox-Id"
	headerPort = "E2b-Sandbox-Port"
)

// The open ports of a sandbox: those of the daemon and of the code interpreter.
const (
	portDaemon      = 49983
	portInterpreter = 49999
)

// ownID is the form of the ids of this plane.
var ownID = regexp.MustCompile(`^i[a-z0-9]{19}$`)

// address is the sandbox and the port that a request is for.
type address struct {
	id   string
	port int
}

// addressOf returns the address of a request. The host takes precedence, as a page can
// choose it only together with an id that it does not know.
func (p *Plane) addressOf(r *http.Request) (a address, ok bool) {
	if a, ok = p.addressOfHost(r.Host); ok {
		return a, true
	}
	id, _, _ := strings.Cut(r.Header.Get(headerID), "-")
	if id == "" || !p.o.Only && !ownID.MatchString(id) {
		return a, false
	}
	a = address{id: id, port: portDaemon}
	if text := r.Header.Get(headerPort); text != "" {
		a.port, _ = strconv.Atoi(text) // 0 is not open
	}
	return a, true
}

// addressOfHost reads PORT-ID.DOMAIN and PORT-ID-CLIENT.DOMAIN.
func (p *Plane) addressOfHost(host string) (a address, ok bool) {
	if p.o.Domain == "" {
		return a, false
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	label, ok := strings.CutSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), "."+p.o.Domain)
	if !ok {
		return a, false
	}
	port, rest, ok := strings.Cut(label, "-")
	if !ok {
		return a, false
	}
	a.id, _, _ = strings.Cut(rest, "-")
	n, err := strconv.ParseUint(port, 10, 16)
	a.port = int(n)
	return a, err == nil
}

// signedFor returns the address of a signed URL of files, which names no sandbox: that of
// the sandbox whose token signed it.
func (p *Plane) signedFor(r *http.Request) (a address, ok bool) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	signature := q.Get("signature")
	if err != nil || signature == "" || p.path(r) != "/files" {
		return a, false
	}
	g := files.Grant{Path: q.Get("path"), Operation: files.OperationRead, Username: q.Get("username")}
	if r.Method == http.MethodPost {
		g.Operation = files.OperationWrite
	}
	if n, err := strconv.ParseInt(q.Get("signature_expiration"), 10, 64); err == nil {
		g.Expiration = &n
	}
	for _, s := range p.store.sandboxes() {
		g.Token = s.token
		if s.token != "" && subtle.ConstantTimeCompare([]byte(signature), []byte(g.Sign())) == 1 {
			return address{id: s.id, port: portDaemon}, true
		}
	}
	return a, false
}

// path returns the path of a request below the prefix; "" if it is not below it.
func (p *Plane) path(r *http.Request) string {
	path, ok := strings.CutPrefix(r.URL.Path, strings.TrimRight(p.o.Gateway.Prefix, "/"))
	if !ok {
		return ""
	}
	return path
}

// addressKey is the key of the address in a request's context.
type addressKey struct{}

// trafficError is the response of the proxy in front of the sandboxes.
type trafficError struct {
	ID      string `json:"sandboxId"`
	Message string `json:"message"`
	Port    int    `json:"port,omitempty"`
	Code    int    `json:"code"`
}

// write writes the error as 502, by which the SDKs know that a sandbox does not run.
func (e trafficError) write(w http.ResponseWriter) {
	e.Code = http.StatusBadGateway
	strict.WriteJSON(w, e.Code, e)
}

// serveTraffic passes a request to its sandbox.
func (p *Plane) serveTraffic(w http.ResponseWriter, r *http.Request) {
	a, ok := r.Context().Value(addressKey{}).(address)
	if !ok {
		http.NotFound(w, r)
		return
	}
	s, err := p.store.get(a.id)
	if err != nil {
		trafficError{ID: a.id, Message: "The sandbox was not found"}.write(w)
		return
	}
	pass, r, why := s.enter(w, r)
	switch {
	case why != "":
		trafficError{ID: a.id, Message: why}.write(w)
		return
	case !slices.Contains([]int{portDaemon, portInterpreter}, a.port):
		pass.leave()
		trafficError{ID: a.id, Message: "The sandbox is running but port is not open", Port: a.port}.write(w)
		return
	}
	defer pass.leave()
	path := p.path(r)
	if path == "/init" || a.port == portInterpreter && !ofInterpreter(path) { // /init is only for the machine that a sandbox runs on
		http.NotFound(w, r)
		return
	}
	if a.port == portInterpreter && s.token != "" {
		r.Header.Set("X-Access-Token", s.token)
	}
	s.gateway.ServeHTTP(pass.writer(), r)
}

// ofInterpreter reports whether the port of the code interpreter serves a path. It needs no
// token, because the SDK sends none to /contexts: the id, which nobody can guess, grants the
// access. Code has no access to files, processes or the host.
func ofInterpreter(path string) bool {
	return path == "/execute" || path == "/contexts" || strings.HasPrefix(path, "/contexts/") || path == "/health"
}

// enter admits a request to a sandbox that runs. Otherwise it says why not.
func (s *Sandbox) enter(w http.ResponseWriter, r *http.Request) (pass *passage, _ *http.Request, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Paused && s.spec.AutoResume {
		s.run(s.spec.Timeout, "resumed by a request")
	}
	switch s.state {
	case ended:
		return nil, r, "The sandbox was not found"
	case Paused:
		return nil, r, "The sandbox is paused"
	case Running:
	}
	pass, r = newPassage(s, w, r)
	s.traffic[pass] = struct{}{}
	return pass, r, ""
}
