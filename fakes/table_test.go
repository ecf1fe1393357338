package fakes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// run starts a command on a table.
func run(t *testing.T, tab *table, s spec) (*process, *subscriber) {
	t.Helper()
	if s.config == nil {
		s.config = &envd.ProcessConfig{Cmd: "/bin/true"}
	}
	p, sub, err := tab.start(s)
	if err != nil {
		t.Fatal(err)
	}
	return p, sub
}

// follow reads all events of a subscriber.
func follow(tab *table, p *process, sub *subscriber, owner bool) ([]event, error) {
	var seen []event
	f := &follower{table: tab, p: p, sub: sub, clock: tab.own, owner: owner,
		sink: eventSinkFunc(func(e event) error { seen = append(seen, e); return nil })}
	err := f.run(context.Background())
	return seen, err
}

// wantTally compares the books.
func wantTally(t *testing.T, tab *table, b *books, started, ok, failed, killed, active int) {
	t.Helper()
	r := tab.read(b)
	got := fmt.Sprint(r.started, r.finished[finishOK], r.finished[finishError], r.finished[finishKilled], r.active)
	if want := fmt.Sprint(started, ok, failed, killed, active); got != want {
		t.Errorf("started, ok, error, killed, active = %s, want %s", got, want)
	}
}

func TestEveryEndIsCountedOnceAndAsWhatItWas(t *testing.T) {
	pid := func(p *process) selector { return selector{pid: p.pid} }
	cases := []struct {
		name               string
		end                func(t *testing.T, tab *table, p *process, run *stubProcess)
		ok, failed, killed int
		status             string
	}{
		{"exit 0 is ok", func(_ *testing.T, _ *table, _ *process, r *stubProcess) {
			r.exit(virtual.Status{})
		}, 1, 0, 0, "exit status 0"},
		{"another exit code is an error", func(_ *testing.T, _ *table, _ *process, r *stubProcess) {
			r.exit(virtual.Status{Code: 3})
		}, 0, 1, 0, "exit status 3"},
		{"a signal that nobody sent through the gateway is an error", func(_ *testing.T, _ *table, _ *process, r *stubProcess) {
			r.exit(virtual.Status{Signal: syscall.SIGTERM})
		}, 0, 1, 0, "signal: terminated"},
		{"a death of SIGTERM sent through the gateway is killed", func(t *testing.T, tab *table, p *process, _ *stubProcess) {
			if err := tab.terminate(pid(p)); err != nil {
				t.Error(err)
			}
		}, 0, 0, 1, "signal: terminated"},
		{"SIGKILL is killed, and a second one finds nothing", func(t *testing.T, tab *table, p *process, _ *stubProcess) {
			if err := tab.kill(pid(p)); err != nil {
				t.Error(err)
			}
			if err := tab.kill(pid(p)); !errors.Is(err, errNotFound) {
				t.Errorf("second kill: %v, want errNotFound", err)
			}
		}, 0, 0, 1, "signal: killed"},
		{"a deadline is killed", func(_ *testing.T, tab *table, p *process, _ *stubProcess) {
			tab.expire(p)
		}, 0, 0, 1, "signal: killed"},
		{"a kill of what has exited unnoticed finds nothing", func(t *testing.T, tab *table, p *process, r *stubProcess) {
			tab.mu.Lock() // the watcher cannot notice
			r.exit(virtual.Status{})
			err := tab.end(p, byKill)
			tab.mu.Unlock()
			if !errors.Is(err, errNotFound) {
				t.Errorf("kill: %v, want errNotFound", err)
			}
		}, 1, 0, 0, "exit status 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tab, b, box := newStubTable(t)
			p, sub := run(t, tab, spec{})
			wantTally(t, tab, b, 1, 0, 0, 0, 1)
			c.end(t, tab, p, box.at(0))
			events, _ := follow(tab, p, sub, false)
			wantTally(t, tab, b, 1, c.ok, c.failed, c.killed, 0)
			if len(events) != 2 || events[0].kind != eventStart || events[1].end.status != c.status {
				t.Errorf("events %+v, want start and an end with status %q", events, c.status)
			}
			if len(tab.list()) != 0 {
				t.Error("an ended process is still listed")
			}
		})
	}
}

func TestAFailureBeforeStartCountsNothing(t *testing.T) {
	tab, b, _ := newStubTable(t)
	dir := "/missing"
	_, _, err := tab.start(spec{config: &envd.ProcessConfig{Cmd: "x", Cwd: &dir}})
	if reason, ok := spawnReason(err); !ok || !strings.Contains(reason, dir) {
		t.Fatalf("error %v, want a spawn error that names %s", err, dir)
	}
	wantTally(t, tab, b, 0, 0, 0, 0, 0)
}

func TestAKillRacesTheExitAndTheBooksAgreeWithTheEndEvents(t *testing.T) {
	tab, b, box := newStubTable(t)
	killed, exited := 0, 0
	for i := range 200 {
		p, sub := run(t, tab, spec{})
		proc := box.at(i)
		var race sync.WaitGroup
		var err error
		race.Go(func() { proc.exit(virtual.Status{}) })
		race.Go(func() { err = tab.kill(selector{pid: p.pid}) })
		race.Wait()
		events, _ := follow(tab, p, sub, false)
		end := events[len(events)-1].end
		switch {
		case err == nil && end.status == "signal: killed":
			killed++
		case errors.Is(err, errNotFound) && end.status == "exit status 0":
			exited++
		default:
			t.Fatalf("kill said %v, and the end event %+v", err, end)
		}
	}
	wantTally(t, tab, b, 200, exited, 0, killed, 0)
}

func TestTheEndComesWhenTheOutputIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, b, box := newStubTable(t)
		p, sub := run(t, tab, spec{})
		proc := box.at(0)
		proc.holders = 1
		proc.exit(virtual.Status{})
		synctest.Wait()
		wantTally(t, tab, b, 1, 1, 0, 0, 0)
		if p.ending() != nil {
			t.Fatal("the end event came while a child held the output")
		}
		proc.print("late\n")
		proc.letGo()
		events, _ := follow(tab, p, sub, false)
		if len(events) != 3 || string(events[1].chunk.data) != "late\n" || events[2].kind != eventEnd {
			t.Errorf("events %+v, want start, late, end", events)
		}
	})
}

func TestAfterAKillTheEndDoesNotWaitForOrphans(t *testing.T) {
	tab, _, box := newStubTable(t)
	p, sub := run(t, tab, spec{})
	proc := box.at(0)
	proc.mu.Lock()
	proc.holders = 1
	proc.mu.Unlock()
	proc.print("own output, unterminated")
	if err := tab.kill(selector{pid: p.pid}); err != nil {
		t.Fatal(err)
	}
	events, _ := follow(tab, p, sub, false)
	if len(events) != 3 || string(events[1].chunk.data) != "own output, unterminated" {
		t.Errorf("events %+v, want start, the output, end", events)
	}
	proc.print("of an orphan\n") // must neither block nor show
	proc.letGo()
}

func TestAnEndedProcessAnswersConnectForThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, _, box := newStubTable(t)
		tab.own = newScaledClock(wallClock{}, 10)
		p, sub := run(t, tab, spec{})
		sub.close()
		box.at(0).exit(virtual.Status{Code: 7})
		synctest.Wait()

		if _, err := tab.find(selector{pid: p.pid}); !errors.Is(err, errNotFound) {
			t.Errorf("find: %v, want errNotFound", err)
		}
		time.Sleep(3*time.Second - time.Millisecond) // virtual time
		again, err := tab.attach(selector{pid: p.pid})
		if err != nil {
			t.Fatalf("just before 30 s on a clock ten times as fast: %v", err)
		}
		events, _ := follow(tab, again, again.hub.subscribe(), false)
		if len(events) != 2 || events[1].end.code != 7 {
			t.Errorf("events %+v, want start and end with code 7", events)
		}
		time.Sleep(2 * time.Millisecond)
		if _, err := tab.attach(selector{pid: p.pid}); !errors.Is(err, errNotFound) {
			t.Errorf("after it: %v, want errNotFound", err)
		}
	})
}

func TestATagMeansTheYoungestProcessThatHasIt(t *testing.T) {
	tab, _, _ := newStubTable(t)
	one, two := "one", "two"
	run(t, tab, spec{tag: &one})
	p2, _ := run(t, tab, spec{tag: &two})
	p3, _ := run(t, tab, spec{tag: &one})
	for tag, want := range map[string]*process{"one": p3, "two": p2} {
		if got, err := tab.find(selector{tag: &tag}); err != nil || got != want {
			t.Errorf("tag %s: %v, %v", tag, got, err)
		}
	}
	none := "three"
	if _, err := tab.find(selector{tag: &none}); !errors.Is(err, errNotFound) {
		t.Errorf("unknown tag: %v", err)
	}
}

func TestTheOwnersStreamEndsWithTheDeadlineAndOthersSeeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, b, box := newStubTable(t)
		p, sub := run(t, tab, spec{limit: time.Second})
		other := p.hub.subscribe()
		box.at(0).print("so far\n")
		start := time.Now()
		events, err := follow(tab, p, sub, true)
		if !errors.Is(err, context.DeadlineExceeded) || len(events) != 2 || string(events[1].chunk.data) != "so far\n" {
			t.Errorf("owner: %+v, %v; want start, data and the deadline", events, err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
		if events, err := follow(tab, p, other, false); err != nil || events[len(events)-1].end.status != "signal: killed" {
			t.Errorf("other: %+v, %v; want an end by SIGKILL", events, err)
		}
		wantTally(t, tab, b, 1, 0, 0, 1, 0)
	})
}

func TestTenThousandIdleProcessesHoldNoDescriptors(t *testing.T) {
	box := virtualSandbox{virtual.New(virtual.Options{})}
	s, err := newSeams(&Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &books{}
	tab := newTable(box, Options{}, s, b, wallClock{})
	defer tab.close()
	count := func() int {
		dir, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("descriptors cannot be counted here: %v", err)
		}
		return len(dir)
	}
	before := count()
	const n = 10_000
	for range n {
		_, sub := run(t, tab, spec{config: &envd.ProcessConfig{Cmd: "sleep", Args: []string{"3600"}}})
		sub.close()
	}
	wantTally(t, tab, b, n, 0, 0, 0, n)
	if after := count(); after > before+8 {
		t.Errorf("%d descriptors before, %d with %d idle processes", before, after, n)
	}
}
