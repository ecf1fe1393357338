package authproxy

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"assay/fakes/issuer"
)

// Options configure a proxy.
type Options struct {
	// Issuer is whose tokens are valid.
	Issuer *issuer.Issuer
	// Needs says what a request needs; default DefaultNeeds("").
	Needs func(*http.Request) Need
	// Limits are those of each user and each connection; the zero value has none.
	Limits Limits
	// Now is the clock of the tokens and of the limits of users; default time.Now.
	Now func() time.Time
	// Log gets a line for every refused request (info) and every other (debug), without its query and its token; nil logs nothing.
	Log *slog.Logger
}

// Limits are what a user and a connection may do. Zero is no limit.
type Limits struct {
	// Connections is how many connections a user may open within Per, at once or spread over it.
	Connections int
	Per         time.Duration // default one minute
	// Sandboxes is how many sandboxes a user may be connected to at once. Any number of connections to one of them count once.
	Sandboxes int
	// BytesPerSecond limits what is sent to the client, per connection.
	BytesPerSecond int
	// Blocked are the names of commands that the query parameter cmd may not have, with any directory in front. A shell runs them all
	// the same: it stops mistakes, and nobody who wants to.
	Blocked []string
	// Idle is how long a connection may last without a byte in either direction.
	Idle time.Duration
}

// complete fills in defaults and validates the options.
func (o *Options) complete() error {
	if o.Issuer == nil {
		return errors.New("a proxy needs an issuer")
	}
	l := &o.Limits
	if l.Connections < 0 || l.Per < 0 || l.Sandboxes < 0 || l.BytesPerSecond < 0 || l.Idle < 0 {
		return errors.New("a limit is negative")
	}
	if l.Per == 0 {
		l.Per = time.Minute
	}
	if o.Needs == nil {
		o.Needs = DefaultNeeds("")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
