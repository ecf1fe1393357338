package controlplane

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"assay/fakes/gateway"
	"assay/fakes/strict"
)

// Plane is a control plane with its sandboxes. Its methods may be called from any
// goroutine.
type Plane struct {
	o       Options
	store   *store
	boxes   Sandboxes // store with its decorators
	api     http.Handler
	traffic http.Handler
}

// New creates a plane without sandboxes.
func New(o Options) (*Plane, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	p := &Plane{o: o, store: &store{o: o, all: map[string]*Sandbox{}}}
	p.boxes = p.store
	if o.Seams.Sandboxes != nil {
		p.boxes = o.Seams.Sandboxes(p.store)
	}
	door := o.Gateway
	door.Token = o.APIKey // a page does not know it
	p.api = gateway.Door(door, p.authorized(strict.Decorated(o.Seams.API, p.routes())))
	p.traffic = strict.Decorated[http.Handler](o.Seams.Traffic, http.HandlerFunc(p.serveTraffic))
	return p, nil
}

// Attach puts a plane in front of the gateway that o describes, which closes the plane.
// The sandboxes are gateways with the same options.
func Attach(o *gateway.Options, c Options) error {
	c.Gateway = *o
	p, err := New(c)
	if err != nil {
		return err
	}
	if p.o.Domain != "" {
		o.Names = append(o.Names, p.o.Domain, "*."+p.o.Domain)
	}
	front, closed := o.Seams.Front, o.Seams.Close
	o.Seams.Front = func(next http.Handler) http.Handler { return strict.Decorated(front, p.Over(next)) }
	o.Seams.Close = func() error {
		p.Close()
		if closed == nil {
			return nil
		}
		return closed()
	}
	return nil
}

// Over returns the handler of the plane, which passes other requests to next.
func (p *Plane) Over(next http.Handler) http.Handler {
	if p.o.Only {
		next = http.HandlerFunc(notServed)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := p.addressOf(r)
		if !ok {
			a, ok = p.signedFor(r)
		}
		if ok {
			p.traffic.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, a)))
			return
		}
		if path := p.path(r); isAPI(path) {
			p.api.ServeHTTP(w, p.local(r, path))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// local returns the request for the API: without the prefix, and with an own name of
// the server in place of that in the domain.
func (p *Plane) local(r *http.Request, path string) *http.Request {
	out := r.WithContext(r.Context())
	out.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	if host, _, err := net.SplitHostPort(r.Host); p.o.Domain != "" && (host == "api."+p.o.Domain || err != nil && r.Host == "api."+p.o.Domain) {
		out.Host = "localhost"
	}
	return out
}

// Close ends all sandboxes, and returns when nothing of them is left.
func (p *Plane) Close() { p.store.close() }

// notServed is the response to a request that is neither for the API nor for a sandbox.
func notServed(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeError(w, failure(http.StatusNotFound, "%s %s: no such route; a request to a sandbox names it with the header %s", r.Method, r.URL.Path, headerID))
}
