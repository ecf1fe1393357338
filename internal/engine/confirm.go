package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// mostTries is how often a suspicion is tried alone at most. One that shows in every second try is then missed in 3 of
// 100 runs; a scenario that repeats its steps tries that often as many times.
const mostTries = 5

// suspect is a slot whose observation raises suspicions.
type suspect struct {
	slot *slot
	of   []string
	wait time.Duration // the deadline of an iteration
}

// suspect keeps a slot for the second pass if its observation raises suspicions. A destructive scenario is not run
// twice, and nothing that an interrupt cut raises any.
func (e *Engine) suspect(ctx context.Context, s *slot) bool {
	if e.o.Suspicions == nil || s.run.Scenario.Destructive || ctx.Err() != nil {
		return false
	}
	of := e.o.Suspicions(s.instance, s.observation)
	if len(of) == 0 {
		return false
	}
	e.callbacks.Lock()
	defer e.callbacks.Unlock()
	e.suspects = append(e.suspects, &suspect{s, of, newInstance(e.env, s.run).deadline})
	return true
}

// confirm runs the suspects again, one at a time with nothing beside it, first those that wait the shortest time for what does
// not come. One that shows the same symptom in the same way as another that was confirmed is not run.
func (e *Engine) confirm(ctx context.Context) {
	began := time.Now()
	cal := e.o.Run.Calibration
	slices.SortFunc(e.suspects, func(a, b *suspect) int {
		x, y := a.slot.run, b.slot.run
		return cmp.Or(byFirst(x, y), cmp.Compare(a.wait, b.wait), cmp.Compare(estimate(x.Scenario, cal), estimate(y.Scenario, cal)), cmp.Compare(x.Scenario.ID, y.Scenario.ID), cmp.Compare(x.Axes.String(), y.Axes.String()))
	})
	shown := map[string]string{} // the scenario that was confirmed, by suspicion
	for i, s := range e.suspects {
		o := s.slot.observation
		o.Confirm = &bundle.Confirmation{}
		left := stretched(e.env.scaled(e.o.ConfirmBudget), e.stretch()) - time.Since(began)
		if i == 0 { // at least one is tried to the end
			left = max(left, stretched(leastPatience+max(s.wait, 3*time.Duration(o.Ended.T-o.Started.T)), e.stretch()))
		}
		switch like := likeAll(s.of, shown); {
		case ctx.Err() != nil:
			o.Confirm.Untried = cutBy(ctx)
		case e.gone.Load():
			o.Confirm.Untried = "the target was gone"
		case e.deaths.kills(o.Scenario):
			o.Confirm.Untried = "the target dies of it"
		case like != "":
			o.Confirm.Like = like
		case e.o.ConfirmBudget > 0 && left <= 0:
			o.Confirm.Untried = noTime
		default:
			e.again(ctx, s, shown, left)
		}
		e.finish(s.slot, o)
	}
}

// stretch returns by how much waits are stretched in the second pass, if the target has answered anything in time before.
func (e *Engine) stretch() float64 {
	if !e.env.breaker.answers() {
		return 1
	}
	return e.env.machine.stretch()
}

// likeAll returns the scenario that showed the first of these suspicions, if all of them were shown.
func likeAll(of []string, shown map[string]string) string {
	for _, one := range of {
		if shown[one] == "" {
			return ""
		}
	}
	return shown[of[0]]
}

// again runs a suspect alone until it shows a suspicion again, and notes in shown what it showed. It has the time that
// is left of a budget.
func (e *Engine) again(ctx context.Context, s *suspect, shown map[string]string, left time.Duration) {
	o, c := s.slot.observation, s.slot.observation.Confirm
	if e.o.ConfirmBudget > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, left, errBudget)
		defer cancel()
		ctx = bounded
	}
	refused := 0
	for c.Tries < mostTries && ctx.Err() == nil {
		alone := e.look(ctx, s.slot, firstAlone+c.Tries+refused, true)
		if alone.Interrupted {
			e.o.Target.Memory().Give(alone.Size())
			break
		}
		if r := e.admission.note(alone); len(r) > 0 && clarity(r.first()) < ownAnswer {
			e.o.Target.Memory().Give(alone.Size())
			if refused++; refused > mostTurns || !e.env.makeWay(ctx, r.first(), refused, e.admission.limits()) {
				break
			}
			continue // it says nothing about the suspicion
		}
		if c.Alone != nil {
			e.o.Target.Memory().Give(c.Alone.Size())
		}
		c.Tries++
		c.Alone = alone
		if alone.Died {
			return
		}
		if of := e.o.Suspicions(s.slot.instance, o); len(of) > 0 {
			for _, one := range of {
				shown[one] = s.slot.instance.Scenario.ID
			}
			return
		}
	}
	switch {
	case c.Alone != nil:
	case refused > 0 && ctx.Err() == nil:
		c.Untried = "its requests were refused"
	default:
		c.Untried = cutBy(ctx)
	}
}

// noTime is why a suspicion was not tried, or not to the end.
const noTime = "the time to look again was spent"

// cutBy says why ctx ended: with a budget, or by an interrupt.
func cutBy(ctx context.Context) string {
	if cutByBudget(ctx) {
		return noTime
	}
	return "the run was interrupted"
}

// firstAlone is the turn of the first try alone, after those of refused requests.
const firstAlone = mostTurns + 1

// Again waits for Done, and then runs instances once more in the same way, until ctx ends: what it has seen is not a
// suspicion, so it may have others beside it. It returns their observations in order, nil for those that did not run
// because the time was over or the target had died. They may be smaller forms of those given to Start.
func (e *Engine) Again(ctx context.Context, instances []scenarios.Instance) []*bundle.Observation {
	<-e.done
	defer e.sampled()()
	all := make([]*slot, len(instances))
	var shared []*slot
	for i, instance := range instances {
		all[i] = &slot{instance: instance, run: instance}
		all[i].run.Axes = axesOf(instance, e.o.Default, e.o.Target)
		if !instance.Scenario.Exclusive {
			shared = append(shared, all[i])
		}
	}
	look := func(s *slot) {
		if ctx.Err() == nil && e.lostTo(s) == nil {
			s.observation = e.look(ctx, s, afterDeath+1, false)
		}
	}
	e.pool(shared, nil, look)
	for _, s := range all {
		if s.instance.Scenario.Exclusive {
			look(s)
		}
	}
	e.leaveNothing(ctx)
	out := make([]*bundle.Observation, len(all))
	for i, s := range all {
		out[i] = s.observation
	}
	return out
}

// look runs the instance of a slot in an environment of its own, with nothing beside it or with others.
func (e *Engine) look(ctx context.Context, s *slot, turn int, alone bool) *bundle.Observation {
	env := newEnv(e.o)
	env.turn, env.files = turn, e.env.files
	env.cal.TimeScale = cmp.Or(max(env.cal.TimeScale, 0), 1) * e.stretch()
	defer env.noteInterrupt(ctx)()
	in := newInstance(env, s.run)
	in.spent, in.idles = e.spent, s.idles
	one := &slot{instance: s.instance, run: s.run, beside: map[string]struct{}{}}
	e.enter(one)
	o := in.observe(ctx)
	o.Lag = int64(e.leave(one))
	_, o.Shortage = env.short.since(0)
	e.fell(ctx, one, in, o, alone)
	if in.lost.Load() {
		e.lost.Store(true)
	}
	bundle.Storable(o)
	return o
}
