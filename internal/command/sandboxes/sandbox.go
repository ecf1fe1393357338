package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/target"
)

// Options describe the sandbox to create.
type Options struct {
	// Target are the options of the run: its control plane, certificates, time scale and program name.
	Target target.Options
	// Template is the id of the template.
	Template string
	// Patience is the longest wait for one response, and Start that for the sandbox to be ready; 0 is
	// 30 s and 60 s. The time scale multiplies both.
	Patience, Start time.Duration
}

// The defaults of Options, and the lifetime of a sandbox.
const (
	defaultPatience = 30 * time.Second
	defaultStart    = 60 * time.Second
	lifetime        = 3600 // seconds
	shortLifetime   = 300  // for a plan that refuses the other
	deletePatience  = 10 * time.Second
	lateAnswer      = 5 * time.Second
	firstPoll       = 10 * time.Millisecond
	pollEvery       = 200 * time.Millisecond
)

// Sandbox is a sandbox of the run. Close deletes it.
type Sandbox struct {
	ID      string
	place   target.Place
	plane   *plane
	seconds int // its lifetime

	asked    time.Time     // when its creation was sent
	creation time.Duration // until the response

	stop context.CancelFunc
	done crash.Group
	once sync.Once
	err  error // of Close
}

// Create creates a sandbox and waits until it is ready. Its errors are *target.UnreachableError, or
// that of ctx; in both cases no sandbox is left.
func Create(ctx context.Context, o Options) (*Sandbox, error) {
	o = o.complete()
	p, err := newPlane(o.Target, o.Patience)
	if err != nil {
		return nil, err
	}
	s, err := p.create(ctx, o.Template)
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx, o.Target, o.Start); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.keep(ctx)
	return s, nil
}

// complete sets the defaults, multiplied by the time scale.
func (o Options) complete() Options {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Start == 0 {
		o.Start = defaultStart
	}
	if scale := o.Target.TimeScale; scale > 0 {
		o.Patience, o.Start = time.Duration(scale*float64(o.Patience)), time.Duration(scale*float64(o.Start))
	}
	return o
}

// keep keeps the sandbox alive until it is closed.
func (s *Sandbox) keep(ctx context.Context) {
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.done.Go(func() {
		s.extend(alive)
	})
}

// Point returns the options of the run with the address and the token of the sandbox.
func (s *Sandbox) Point(o target.Options) (target.Options, error) {
	t, err := target.New(withURL(o))
	if err != nil {
		return o, err
	}
	at, err := t.Sandbox(s.place)
	if err != nil {
		return o, err
	}
	return at.Options(), nil
}

// withURL returns options with the URL of the control plane.
func withURL(o target.Options) target.Options {
	o.URL = o.Control.URL
	if !target.IsSecureURL(o.URL) {
		o.CACert, o.Insecure = nil, false
	}
	return o
}

// Close deletes the sandbox; a second call does nothing.
func (s *Sandbox) Close() error {
	s.once.Do(func() {
		if s.stop != nil {
			s.stop()
			s.done.Wait()
		}
		ctx, cancel := context.WithTimeout(context.Background(), deletePatience)
		defer cancel()
		answer, err := s.plane.call(ctx, http.MethodDelete, s.path(""), nil)
		switch {
		case err != nil:
			s.err = fmt.Errorf("the sandbox %s was not deleted: %w", s.ID, err)
		case answer.status/100 != 2 && answer.status != http.StatusNotFound:
			s.err = fmt.Errorf("the sandbox %s was not deleted: %s", s.ID, answer)
		}
	})
	return s.err
}

func (s *Sandbox) path(rest string) string { return "/sandboxes/" + url.PathEscape(s.ID) + rest }

// extend prolongs the life of the sandbox until ctx ends. A failure shows in what happens to the
// sandbox.
func (s *Sandbox) extend(ctx context.Context) {
	tick := time.NewTicker(time.Duration(s.seconds) * time.Second / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = s.plane.call(ctx, http.MethodPost, s.path("/timeout"), map[string]any{"timeout": s.seconds})
		case <-ctx.Done():
			return
		}
	}
}

// awaitReady polls the health of the sandbox.
func (s *Sandbox) awaitReady(ctx context.Context, o target.Options, limit time.Duration) error {
	t, err := target.New(withURL(o))
	if err != nil {
		return err
	}
	at, err := t.Sandbox(s.place)
	if err != nil {
		return s.plane.unreachable(fmt.Sprintf("its sandbox %s has no address: %v.", s.ID, err), "")
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := "no response"
	for pause := firstPoll; ; pause = min(2*pause, pollEvery) {
		answer, err := s.plane.health(bounded, at)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && answer.started():
			return nil
		case err == nil:
			last = answer.String()
		case bounded.Err() == nil:
			last = err.Error()
		}
		if why := s.forgotten(bounded); why != "" {
			return s.plane.unreachable("it created the sandbox "+s.ID+" and has forgotten it: "+why+".", "")
		}
		select {
		case <-time.After(pause):
		case <-bounded.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.plane.unreachable(fmt.Sprintf("its sandbox %s was not ready within %s; the last response to GET %s: %s.", s.ID, limit, at.Path("health", ""), last),
				"--time-scale extends every deadline; --sandbox-url gives the address of the sandboxes.")
		}
	}
}

// forgotten returns the response of a control plane that does not know the sandbox, else "".
func (s *Sandbox) forgotten(ctx context.Context) string {
	answer, err := s.plane.call(ctx, http.MethodGet, s.path(""), nil)
	if err != nil || answer.status != http.StatusNotFound || strings.Contains(answer.kind, "html") {
		return ""
	}
	return answer.String()
}
