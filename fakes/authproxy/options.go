package authproxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"assay/internal/crash"
)

// fetchTimeout limits one request to the issuer.
const fetchTimeout = 5 * time.Second

// Options configure a proxy.
type Options struct {
	// Issuer is the URL of the issuer, and the claim iss that tokens must have.
	Issuer string
	// Audience is what the claim aud must contain.
	Audience string
	// Needs says what a request needs; default DefaultNeeds("").
	Needs func(*http.Request) Need
	// Limits are those of each user and each connection; the zero value has none.
	Limits Limits
	// Client asks the issuer; default http.DefaultClient.
	Client *http.Client
	// Clock is the clock of all limits and checks; default the real one.
	Clock Clock
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
	if o.Issuer == "" || o.Audience == "" {
		return errors.New("a proxy needs an issuer and an audience")
	}
	o.Issuer = strings.TrimRight(o.Issuer, "/")
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
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Clock is the time of a proxy.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d; stop prevents it.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// realClock is the clock of this machine.
type realClock struct{}

var _ Clock = realClock{}

// Now returns the current time.
func (realClock) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (realClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, func() {
		defer crash.Catch()
		f()
	}).Stop
}

// wait waits for d, or until the context ends.
func wait(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	over := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(over) })
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}
