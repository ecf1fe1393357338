package engine

import (
	"context"
	"testing"

	"golang.org/x/sync/semaphore"

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
