package authproxy

import (
	"context"
	"net/http"
	"net/url"
)

// Proxy checks requests. Its methods may be called from any goroutine.
type Proxy struct {
	o        Options
	verifier *verifier
	accounts *accounts
}

// New returns a proxy.
func New(o Options) (*Proxy, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Proxy{
		o: o, verifier: newVerifier(o),
		accounts: &accounts{limits: o.Limits, now: o.Now, byName: map[string]*account{}},
	}, nil
}

// Over puts the proxy in front of a handler. The handler gets the request without the token.
func (p *Proxy) Over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		need := p.o.Needs(r)
		if need.Open {
			next.ServeHTTP(w, withoutToken(r))
			return
		}
		a, no := p.admit(r, need)
		if no != nil {
			p.o.Log.Info("refused", "method", r.Method, "path", r.URL.Path, "status", no.status, "why", no.why, "user", a.user.name)
			no.write(w)
			return
		}
		p.o.Log.Debug("admitted", "method", r.Method, "path", r.URL.Path, "user", a.user.name)
		p.pass(w, r, next, a.leave)
	})
}

// admission is a request that passes.
type admission struct {
	user  user
	leave func() // ends its connection
}

// admit checks a request: its query, its token, the scope, the command, then the limits, so that what is refused anyway costs none.
func (p *Proxy) admit(r *http.Request, need Need) (a admission, no *refusal) {
	a.leave = func() {}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a, badQuery()
	}
	token := tokenOf(r, query)
	if token == "" {
		return a, noToken()
	}
	a.user, err = p.verifier.verify(token)
	if err != nil {
		return a, invalidToken(err)
	}
	if !a.user.has(need.Scope) {
		return a, missingScope(need.Scope)
	}
	if name, ok := p.o.Limits.blocked(query["cmd"]); ok {
		return a, blockedCommand(name)
	}
	if need.Connects {
		a.leave, no = p.accounts.enter(a.user.name, sandbox(r, query))
	}
	return a, no
}

// pass hands a request on. The connection ends with the handler, or, once the handler has taken it over, when it is closed.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, next http.Handler, leave func()) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &channel{
		limits: p.o.Limits, leave: leave, writer: w, cancel: cancel,
		websocket: isWebSocket(r), idle: idle{after: p.o.Limits.Idle},
	}
	c.idle.start(c.expire)
	defer c.end()
	out := withoutToken(r.WithContext(ctx))
	if r.Body != nil && r.Body != http.NoBody {
		out.Body = &body{ReadCloser: r.Body, idle: &c.idle}
	}
	next.ServeHTTP(c.response(ctx), out)
	c.abortIfIdle()
}
