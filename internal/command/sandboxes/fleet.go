package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/target"
)

// The limits of a fleet: creations and deletions at a time, and the time that a sandbox that
// is ready may take to run its first command.
const (
	atOnce       = 16
	firstCommand = 10 * time.Second
)

// What failed, where no status says it.
const (
	noResponse = "no_response"
	notReady   = "not_ready"
	noCommand  = "no_command"
)

// failure is the failure of one sandbox.
type failure struct {
	error

	what string // the status of the creation, or one of the words above
	// refused is set if the control plane would refuse the next one, too: a wrong key, an
	// unknown template, too many sandboxes.
	refused bool
}

func (f *failure) Unwrap() error { return f.error }

// Failure describes a sandbox that could not be used.
type Failure struct {
	// What is the status of the creation, or no_response, not_ready or no_command.
	What string
	Err  error
}

// Fleet is a number of sandboxes with the same template. Its methods may be called at the same
// time; Create is called once.
type Fleet struct {
	options Options
	wanted  int
	// first runs the first command in a sandbox.
	first func(ctx context.Context, at target.Options) error

	mu        sync.Mutex
	sandboxes []*Sandbox // created and not known to be deleted
	failed    []Failure
	creation  []time.Duration
	ready     []time.Duration
	took      time.Duration
	deleted   int
}

// NewFleet returns a fleet of so many sandboxes, which Create creates. first runs a command in
// a sandbox.
func NewFleet(o Options, wanted int, first func(ctx context.Context, at target.Options) error) *Fleet {
	return &Fleet{options: o.complete(), wanted: wanted, first: first}
}

// Create creates the sandboxes, 16 at a time, and waits until each has run a command. It fails
// with a *target.UnreachableError if the control plane refuses one, or if none can be used, and
// with that of ctx; no sandbox is left then. Other failures leave a smaller fleet.
func (f *Fleet) Create(ctx context.Context) error {
	p, err := newPlane(f.options.Target, f.options.Patience)
	if err != nil {
		return err
	}
	begun := time.Now()
	stopping, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan struct{}, f.wanted)
	for range f.wanted {
		next <- struct{}{}
	}
	close(next)
	var making crash.Group
	for range min(atOnce, f.wanted) {
		making.Go(func() {
			for range next {
				if stopping.Err() != nil {
					return
				}
				f.add(stopping, stop, p)
			}
		})
	}
	making.Wait()
	f.took = time.Since(begun)
	created := len(f.sandboxes)
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case stopping.Err() != nil:
		err = context.Cause(stopping)
		if created > 0 {
			err = fmt.Errorf("%w\n  %d of %d sandboxes had been created; they are deleted", err, created, f.wanted)
		}
	case created == 0:
		err = f.failed[0].Err
	default:
		return nil
	}
	_, left := f.Close()
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("%d sandboxes were not deleted: %v", len(left), left))
	}
	return err
}

// add creates one sandbox, and stops the creation of all if that is refused.
func (f *Fleet) add(ctx context.Context, stop context.CancelCauseFunc, p *plane) {
	s, err := p.create(ctx, f.options.Template)
	if err == nil {
		f.mu.Lock()
		f.sandboxes = append(f.sandboxes, s)
		f.mu.Unlock()
		err = f.prove(ctx, s)
	}
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.creation, f.ready = append(f.creation, s.creation), append(f.ready, time.Since(s.asked))
		return
	}
	if s != nil {
		f.drop(s)
	}
	if ctx.Err() != nil {
		return
	}
	one := &failure{what: noResponse, error: err}
	_ = errors.As(err, &one)
	if one.refused {
		stop(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, Failure{one.what, err})
}

// prove waits until a sandbox runs a command.
func (f *Fleet) prove(ctx context.Context, s *Sandbox) error {
	if err := s.awaitReady(ctx, f.options.Target, f.options.Start); err != nil {
		return &failure{what: notReady, error: err}
	}
	s.keep(ctx)
	return f.run(ctx, s)
}

// run runs the first command, and repeats it for a while if it fails.
func (f *Fleet) run(ctx context.Context, s *Sandbox) error {
	at, err := s.Point(f.options.Target)
	if err != nil {
		return err
	}
	limit := firstCommand
	if scale := f.options.Target.TimeScale; scale > 0 {
		limit = time.Duration(scale * float64(limit))
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for pause := firstPoll; ; pause = min(2*pause, pollEvery) {
		err := f.first(bounded, at)
		if err == nil {
			return nil
		}
		if last == nil || bounded.Err() == nil {
			last = err
		}
		select {
		case <-time.After(pause):
		case <-bounded.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &failure{what: noCommand, error: s.plane.unreachable(fmt.Sprintf("its sandbox %s runs no command within %s: %v.", s.ID, limit, last), "")}
		}
	}
}

// drop deletes a sandbox that cannot be used.
func (f *Fleet) drop(s *Sandbox) {
	if s.Close() != nil {
		return // it stays among those that are left
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sandboxes = slices.DeleteFunc(f.sandboxes, func(o *Sandbox) bool { return o == s })
}

// Failed returns the sandboxes that could not be used, in the order in which they failed.
func (f *Fleet) Failed() []Failure { return f.failed }

// Times returns, for each sandbox that can be used, the time from the call that creates it to
// the response, and to the end of its first command; and the time until all were ready.
func (f *Fleet) Times() (creation, ready []time.Duration, took time.Duration) {
	return f.creation, f.ready, f.took
}

// Points returns the options of the run for each sandbox. It fails with a
// *target.UnreachableError unless one address serves all of them.
func (f *Fleet) Points(ctx context.Context) ([]target.Options, error) {
	var all []target.Options
	first := ""
	for _, s := range f.sandboxes {
		at, err := s.Point(f.options.Target)
		if err != nil {
			return nil, err
		}
		t, err := target.New(at)
		if err != nil {
			return nil, err
		}
		if first == "" {
			first = t.Addr()
		}
		if t.Addr() != first && !sameHost(ctx, first, t.Addr()) {
			return nil, s.plane.unreachable(fmt.Sprintf("its sandboxes have different addresses, %s and %s.", first, t.Addr()),
				"--sandbox-url gives one address for all sandboxes.")
		}
		all = append(all, at)
	}
	return all, nil
}

// sameHost reports whether two addresses, host:port, lead to the same server.
func sameHost(ctx context.Context, a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB {
		return false
	}
	allA, errA := net.DefaultResolver.LookupHost(ctx, hostA)
	allB, errB := net.DefaultResolver.LookupHost(ctx, hostB)
	return errA == nil && errB == nil && slices.ContainsFunc(allA, func(ip string) bool { return slices.Contains(allB, ip) })
}

// Left returns the ids of the sandboxes that are not deleted.
func (f *Fleet) Left() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sandboxes {
		ids = append(ids, s.ID)
	}
	return ids
}

// Close deletes all sandboxes, 16 at a time. It returns how many it has deleted, and the ids of
// those that it could not delete. A second call returns the same.
func (f *Fleet) Close() (deleted int, left []string) {
	f.mu.Lock()
	all := slices.Clone(f.sandboxes)
	f.mu.Unlock()
	next := make(chan *Sandbox, len(all))
	for _, s := range all {
		next <- s
	}
	close(next)
	var closing crash.Group
	for range min(atOnce, len(all)) {
		closing.Go(func() {
			for s := range next {
				if s.Close() != nil {
					continue
				}
				f.mu.Lock()
				f.deleted++
				f.sandboxes = slices.DeleteFunc(f.sandboxes, func(o *Sandbox) bool { return o == s })
				f.mu.Unlock()
			}
		})
	}
	closing.Wait()
	return f.deleted, f.Left()
}
