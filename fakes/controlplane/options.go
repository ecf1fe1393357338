package controlplane

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"assay/fakes/gateway"
)

// The defaults of Options.
const (
	defaultMaxSandboxes = 100
	defaultMaxTimeout   = 24 * time.Hour
)

// defaultTemplates are the templates that the SDKs ask for.
func defaultTemplates() []string { return []string{"base", "code-interpreter-v1"} }

// Options configure a Plane.
type Options struct {
	// Gateway configures the gateway of each sandbox. Its listener, its token and its home directory are not used, and neither are the
	// seams of connections and servers.
	Gateway gateway.Options
	// APIKey is required as X-API-Key; "" accepts every key, and none.
	APIKey string
	// Domain is the domain of the sandboxes: requests to <port>-<id>.<Domain> are for
	// a sandbox, and replies name it. "" is none.
	Domain string
	// Templates are the ids of the templates; nil is base and code-interpreter-v1.
	Templates []string
	// MaxSandboxes is how many may exist at a time; 0 is 100.
	MaxSandboxes int
	// MaxTimeout is how long a sandbox may run without a pause; 0 is 24 h.
	MaxTimeout time.Duration
	// Only serves nothing but sandboxes: a request that is for none gets 404 instead of
	// the handler behind the plane.
	Only  bool
	Seams Seams
}

// Seams are the places where decorators change a plane, for every request. The zero
// value changes nothing.
type Seams struct {
	// API decorates the routes of the REST API, Traffic the requests to sandboxes.
	API, Traffic func(next http.Handler) http.Handler
	// Sandboxes decorates the sandboxes as the API sees them.
	Sandboxes func(next Sandboxes) Sandboxes
}

// domainForm is the form of a host name.
var domainForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// complete fills in defaults and validates the options.
func (o *Options) complete() error {
	if o.Templates == nil {
		o.Templates = defaultTemplates()
	}
	if o.MaxSandboxes == 0 {
		o.MaxSandboxes = defaultMaxSandboxes
	}
	if o.MaxTimeout == 0 {
		o.MaxTimeout = defaultMaxTimeout
	}
	if o.Domain = strings.ToLower(o.Domain); o.Domain != "" && !domainForm.MatchString(o.Domain) {
		return fmt.Errorf("domain %q: want a host name without a port", o.Domain)
	}
	if o.MaxSandboxes < 0 || o.MaxTimeout < 0 {
		return errors.New("the limits of sandboxes are negative")
	}
	g := &o.Gateway
	if g.Processes == gateway.ProcessesOS && o.APIKey == "" && !g.InsecureLocal {
		return errors.New("processes os need an API key: without one, every client could run anything on this machine")
	}
	g.Seams.Conn, g.Seams.Server, g.Seams.Front, g.Seams.Close = nil, nil, nil, nil
	g.Token, g.Home, g.TLS, g.Names = "", "", false, nil
	return nil
}
