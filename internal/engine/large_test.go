package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"assay/internal/bundle"
	"assay/scenarios"
)

func TestScriptsThatGenerateMuchTakeTurns(t *testing.T) {
	e := &env{large: semaphore.NewWeighted(mostGenerated)}
	much, little := &scenarios.Scenario{GeneratedEach: mostGenerated - 1}, &scenarios.Scenario{GeneratedEach: littleGenerated}
	leave := e.makeRoom(t.Context(), much)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e.makeRoom(over, much)() // it does not wait after the end of the run, and gives nothing back
	if e.large.TryAcquire(2) {
		t.Error("there is room beside a script that generates the most")
	}
	e.makeRoom(t.Context(), little)()
	leave()
	e.makeRoom(t.Context(), &scenarios.Scenario{GeneratedEach: 3 * mostGenerated})()
	if !e.large.TryAcquire(mostGenerated) {
		t.Error("the room is not given back")
	}
}

// An instance that needs an unknown feature waits for its canary, which may need the same room.
func TestWhatWaitsForACanaryTakesNoRoomFromIt(t *testing.T) {
	b := newBench(t, newMiniature(t).URL).open("process.tag")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e := &Engine{env: newEnv(b.options), o: b.options}
		e.gone.Store(true) // no instance runs: each is only on its way
		for _, i := range numbered(t, 2, "needs: [process.tag]\nsteps: [{list: {as: l}}]") {
			i.Scenario.GeneratedEach = mostGenerated
			e.slots = append(e.slots, &slot{instance: i, run: i, seen: make(chan struct{}), ready: make(chan struct{})})
		}
		e.appointCanaries(e.slots)
		canary, other := e.slots[0], e.slots[1]
		if other.canary {
			canary, other = other, canary
		}
		go e.runOne(ctx, other)
		synctest.Wait()
		e.runOne(ctx, canary)
		synctest.Wait()
		for _, s := range e.slots {
			if s.observation.Skip.Reason != bundle.SkipTargetGone {
				t.Errorf("%s: skip %+v", s.instance.Scenario.ID, s.observation.Skip)
			}
		}
		if !e.env.large.TryAcquire(mostGenerated) {
			t.Error("the room is not given back")
		}
	})
}
