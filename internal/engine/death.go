package engine

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/machine"
	"assay/internal/record/bundle"
)

const (
	// mostDeaths is how often a target may die before the rest of a run is left out. That it dies once more when its killer is
	// sought does not count.
	mostDeaths = 5
	// aftermath is how long ago an instance may have ended that is suspected of a death: a target may take its time to die.
	aftermath = 2 * time.Second
	// closing is how often a dying target is looked at once more, after closingStep each, or more on a busy machine. A target
	// that has cut connections mostAlarms times and lives is not dying.
	closing     = 3
	closingStep = 20 * time.Millisecond
	mostAlarms  = 8
	// afterDeath is the turn of an instance that ran when the target died.
	afterDeath = firstAlone + mostTries + mostTurns
)

// deaths knows when the target died, and of which scenarios. It is dead when it refuses a connection; that something does not
// come in time says nothing, except to the probe after a destructive scenario. The zero value is ready.
//
// After a death the run waits until the target is back. What ran meanwhile is run again, one by one with nothing beside
// it: if the target dies then, that scenario is the killer, and runs no more. If it does not, what ended just before is
// tried in the same way.
type deaths struct {
	mu      sync.Mutex // held while the target is waited for
	all     []bundle.Death
	met     int             // deaths in no search for a killer
	alarms  int             // suspicions of a death of a target that lived
	back    time.Time       // when it was last back; instances that began before have met a death
	fallen  int             // instances that still have to run again
	ended   []*slot         // those that ended in the last seconds, the latest last
	killers map[string]bool // scenarios
}

// fell reports whether the target died while a slot ran, so that its observation says nothing. With nothing beside it,
// the slot is the killer.
func (e *Engine) fell(ctx context.Context, s *slot, in *instance, o *bundle.Observation, alone bool) bool {
	d := &e.deaths
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case o.Interrupted:
		return false
	case e.gone.Load():
		o.Died = in.refused.Load() || cutOff(o)
		return false
	case s.entered.Before(d.back):
		o.Died = true
		return true
	case in.died.Load(), o.Shortage == "" && refusedAt(o, e.o.Target.Addr()):
	case !alone && !cutOff(o), s.trial && e.env.alive(ctx), o.Shortage != "", !e.refuses(ctx, cutOff(o)):
		return false
	}
	death := bundle.Death{Since: o.Started, At: e.o.Clock.Stamp(), Ran: e.about(s)}
	o.Died = true
	if alone {
		death.Scenario, death.Axes = o.Scenario, o.Axes
		if d.killers == nil {
			d.killers = map[string]bool{}
		}
		d.killers[o.Scenario] = true
	}
	e.o.Log.Warn("the target has died; waiting for it to come back", "scenario", o.Scenario)
	began := time.Now()
	if !s.trial {
		d.met++
	}
	back := d.met <= mostDeaths && e.comesBack(ctx)
	if back {
		death.Back = max(1, int64(time.Since(began)))
		d.back = time.Now()
	} else if ctx.Err() == nil {
		e.gone.Store(true)
		e.o.Log.Error("the target does not come back; the remaining scenarios will not run", "scenario", o.Scenario)
	}
	d.all = append(d.all, death)
	return back && !alone
}

// refuses reports whether the target refuses a connection now, or after it cut one, in a moment: the system closes the
// connections of a process before its listener. One that is not there in time is not refused, and neither is one that this
// machine could not open. The caller holds the lock of the deaths.
func (e *Engine) refuses(ctx context.Context, cut bool) bool {
	for look := 0; ; look++ {
		err := e.o.Target.DialOnce(ctx)
		var timeout net.Error
		if err != nil && ctx.Err() == nil && !machine.Exhausted(err) && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			return true
		}
		if !cut || e.deaths.alarms >= mostAlarms {
			return false
		}
		if look == closing || sleep(ctx, time.Duration(float64(closingStep)*e.env.machine.stretch())) != nil {
			e.deaths.alarms++
			return false
		}
	}
}

// about returns the scenarios that run, or have ended shortly before. The caller holds the lock of the deaths.
func (e *Engine) about(s *slot) []string {
	ids := map[string]bool{s.instance.Scenario.ID: true}
	for _, before := range e.deaths.ended {
		ids[before.instance.Scenario.ID] = ids[before.instance.Scenario.ID] || time.Since(before.left) < aftermath
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for other := range e.running {
		ids[other.instance.Scenario.ID] = true
	}
	maps.DeleteFunc(ids, func(_ string, is bool) bool { return !is })
	return sortedKeys(ids)
}

// refusedAt reports whether a connection to an address was refused. Sandboxes have addresses of their own, and may be gone.
func refusedAt(o *bundle.Observation, address string) bool {
	return slices.ContainsFunc(o.Iterations, func(it bundle.Iteration) bool {
		return slices.ContainsFunc(it.Conns, func(c bundle.Conn) bool {
			return c.Remote == address && strings.Contains(c.DialError, "refused")
		})
	})
}

// cutOff reports whether the target ended a connection before a response was complete.
func cutOff(o *bundle.Observation) bool {
	return slices.ContainsFunc(o.Iterations, func(it bundle.Iteration) bool {
		return slices.ContainsFunc(it.Exchanges, func(x bundle.Exchange) bool {
			return x.Outcome == bundle.OutcomeClosed || x.Outcome == bundle.OutcomeReset || x.Outcome == bundle.OutcomeNoConnect
		})
	})
}

// comesBack starts the target again, if the run can, and waits until it responds.
func (e *Engine) comesBack(ctx context.Context) bool {
	bound := e.env.scaled(e.o.ComeBack)
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if e.o.Restart != nil {
		e.o.Restart(ctx)
	}
	for bound > 0 && ctx.Err() == nil {
		if e.o.Target.Wait(ctx, bound) == nil && e.env.alive(ctx) && ctx.Err() == nil {
			return true
		}
	}
	return false
}

// await waits while the target is down.
func (d *deaths) await() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

// kills reports whether a scenario is known to kill the target.
func (d *deaths) kills(scenario string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.killers[scenario]
}

// lostTo says why a slot no longer runs after a death of the target, or returns nil.
func (e *Engine) lostTo(s *slot) *bundle.Skip {
	switch {
	case e.gone.Load():
		return &bundle.Skip{Reason: bundle.SkipTargetGone, Detail: "the target had stopped accepting connections"}
	case e.deaths.kills(s.instance.Scenario.ID):
		return &bundle.Skip{Reason: bundle.SkipKiller, Detail: "the target had died while it ran alone"}
	}
	return nil
}

// ends remembers when an instance has ended, for the last time if it ran again.
func (d *deaths) ends(s *slot, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.left = at
	d.ended = slices.DeleteFunc(d.ended, func(o *slot) bool { return o == s || time.Since(o.left) > aftermath })
	d.ended = append(d.ended, s)
}

// counted changes the number of the fallen, and returns it.
func (d *deaths) counted(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fallen += n
	return d.fallen
}

// unexplained returns what ended just before the last death, the latest first, if no killer was found since.
func (d *deaths) unexplained() []*slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended := slices.Clone(d.ended)
	d.ended = nil
	if len(d.all) == 0 || d.all[len(d.all)-1].Scenario != "" {
		return nil
	}
	slices.Reverse(ended)
	return ended
}

// rise runs a slot again that ran when the target died, alone, and returns its observation. The last one of a death then
// seeks its killer among what ended before, if it was none of them.
func (e *Engine) rise(ctx context.Context, s *slot, fallen *bundle.Observation) *bundle.Observation {
	e.admission.alone.Lock()
	defer e.admission.alone.Unlock()
	o := fallen
	if lost := e.lostTo(s); lost != nil && lost.Reason == bundle.SkipKiller {
		o = e.skipped(s, *lost)
	} else if again := e.trial(ctx, s); again != nil {
		o = again
	}
	if o != fallen {
		e.o.Target.Memory().Give(fallen.Size())
	}
	e.seekKiller(ctx)
	return o
}

// seekKiller runs again what ended just before the last death, unless there are others to try first.
func (e *Engine) seekKiller(ctx context.Context) {
	if e.deaths.counted(-1) > 0 {
		return
	}
	for _, before := range e.deaths.unexplained() {
		o := e.trial(ctx, before)
		if o == nil {
			return
		}
		e.o.Target.Memory().Give(o.Size())
		if o.Died {
			return
		}
	}
}

// trial runs a slot with nothing beside it; nil means that it could not.
func (e *Engine) trial(ctx context.Context, s *slot) *bundle.Observation {
	if ctx.Err() != nil || e.spent() || e.gone.Load() {
		return nil
	}
	in := e.instance(s)
	in.turn = afterDeath
	again := &slot{instance: s.instance, run: s.run, trial: true, beside: map[string]struct{}{}}
	o := e.observe(ctx, again, in, true)
	if o.Interrupted {
		e.o.Target.Memory().Give(o.Size())
		return nil
	}
	bundle.Storable(o)
	return o
}
