package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"assay/fakes/strict"
)

// AnyOrigin in Options.Origins allows the pages of every origin.
const AnyOrigin = "*"

// ScenarioOrigin is the origin of the scenarios about pages of another origin. No page comes from it: its domain is reserved.
const ScenarioOrigin = "http://assay.example"

// door refuses requests that a web page makes without the consent of whoever runs the gateway. A browser sends the requests of any page to an
// address of this machine. With a token they fail, because no page knows it; without one, door allows requests to the gateway's own names (a name of
// an attacker may resolve to this machine: DNS rebinding) and from pages of the allowed origins.
type door struct {
	token   bool
	host    string // that the gateway listens on
	origins []string
}

func newDoor(o Options) door {
	d := door{token: o.Token != "", origins: o.Origins}
	if d.origins == nil && d.token {
		d.origins = []string{AnyOrigin}
	}
	d.host, _, _ = net.SplitHostPort(o.Listen) // Start has listened on it
	return d
}

// Door puts the protection against web pages that o describes in front of a handler
// which is served beside a gateway.
func Door(o Options, next http.Handler) http.Handler { return newDoor(o).over(next) }

// over puts the door in front of the surfaces.
func (d door) over(next http.Handler) http.Handler {
	crossOrigin := cors(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.token && !d.named(r.Host) {
			refuse(w, fmt.Errorf("host %q is not this gateway: use its address, or run it with a token", r.Host))
			return
		}
		origin := r.Header.Get("Origin")
		switch {
		case origin == "" && !d.token && crossSite(r):
			refuse(w, errors.New("pages of other sites may not call this gateway: run it with a token"))
		case origin == "" || sameOrigin(origin, r.Host) && !d.allows(origin):
			next.ServeHTTP(w, r)
		case !d.allows(origin):
			refuse(w, fmt.Errorf("pages of %q may not call this gateway: allow the origin, or run it with a token", origin))
		default:
			if !slices.Contains(d.origins, AnyOrigin) {
				w.Header().Set("Access-Control-Allow-Origin", origin)
			} else {
				w.Header().Set("Access-Control-Allow-Origin", AnyOrigin)
			}
			crossOrigin.ServeHTTP(w, r)
		}
	})
}

// refuse answers with 403.
func refuse(w http.ResponseWriter, err error) {
	strict.LimitRest(w)
	strict.WriteError(w, connect.NewError(connect.CodePermissionDenied, err))
}

// allows reports whether pages of an origin may call the gateway.
func (d door) allows(origin string) bool {
	return slices.Contains(d.origins, AnyOrigin) || slices.Contains(d.origins, origin)
}

// named reports whether a Host header may be that of the gateway: an address, a name without a dot such as localhost, or the name that it listens on. The
// other names are those of the public DNS, whose owners choose what they resolve to.
func (d door) named(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.TrimSuffix(name, ".")
	return net.ParseIP(name) != nil || !strings.Contains(name, ".") || strings.EqualFold(name, d.host)
}

// crossSite reports whether a page of another site makes a request that may change something. Browsers send such a request with its origin, and most also
// with this field; an upload is a form, so that nothing else protects it without a token.
func crossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Method != http.MethodGet && r.Method != http.MethodHead && site != "" && site != "same-origin" && site != "none"
}

// sameOrigin reports whether an origin is the host that is asked.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// formTypes are the content types of the bodies that a page of any origin may send without a preflight.
var formTypes = []string{"text/plain", "application/x-www-form-urlencoded", "multipart/"}

// errForm refuses a body that a form can send.
var errForm = errors.New("a body of a form is not accepted without a token: send Content-Type: application/json (curl --json)")

// isForm reports whether a content type is one of a form.
func isForm(contentType string) bool {
	kind := strings.ToLower(strings.TrimSpace(contentType))
	return slices.ContainsFunc(formTypes, func(t string) bool { return strings.HasPrefix(kind, t) })
}
