package authproxy

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"assay/fakes/issuer"
)

// Need is what a request needs.
type Need struct {
	Open     bool   // no token
	Scope    string // the scope that its token must have; issuer.ScopeAdmin has all
	Connects bool   // it opens a connection to a sandbox, which the limits count
}

// known are the needs by path.
var known = map[string]Need{
	"/health":                  {Open: true},
	"/terminal":                {Open: true},               // the page asks for the token
	"/metrics":                 {Scope: issuer.ScopeAdmin}, // it counts the commands of all users
	"/attach":                  {Scope: issuer.ScopeConnect, Connects: true},
	"/commands":                {Scope: issuer.ScopeExec, Connects: true},
	"/process.Process/Start":   {Scope: issuer.ScopeExec, Connects: true},
	"/process.Process/Connect": {Scope: issuer.ScopeConnect, Connects: true},
	"/process.Process/List":    {Scope: issuer.ScopeConnect},
}

// DefaultNeeds returns the needs of the surfaces of a gateway below a prefix. An upgrade on any other path connects; everything else
// executes, as far as is known here. The preflight of a browser carries no token and runs nothing.
func DefaultNeeds(prefix string) func(*http.Request) Need {
	return func(r *http.Request) Need {
		if isPreflight(r) {
			return Need{Open: true}
		}
		if below, ok := strings.CutPrefix(r.URL.Path, prefix); ok {
			if need, ok := known[below]; ok {
				return need
			}
			if strings.HasPrefix(below, "/terminal/") {
				return known["/terminal"]
			}
		}
		if r.Header.Get("Upgrade") != "" {
			return Need{Scope: issuer.ScopeConnect, Connects: true}
		}
		return Need{Scope: issuer.ScopeExec}
	}
}

// isPreflight reports whether a request is a CORS preflight.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// blocked returns the first command of a request that is blocked. A parameter that is given twice may be read either way.
func (l Limits) blocked(cmds []string) (name string, ok bool) {
	for _, cmd := range cmds {
		if name = path.Base(strings.TrimSpace(cmd)); slices.Contains(l.Blocked, name) {
			return name, true
		}
	}
	return "", false
}

// sandbox returns the sandbox of a request: of its query, as in the protocol of stdio, or of its header, as in that of E2B.
func sandbox(r *http.Request, query map[string][]string) string {
	if id := query["sandbox"]; len(id) > 0 && id[0] != "" {
		return id[0]
	}
	if id := r.Header.Get("E2b-Sandbox-Id"); id != "" {
		return id
	}
	return "default"
}
