package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
	"assay/internal/testkit"
)

// run starts a command on a table.
func run(t *testing.T, tab *table, s Spec) (*Process, *Subscriber) {
	t.Helper()
	if s.Config == nil {
		s.Config = &envd.ProcessConfig{Cmd: "/bin/true"}
	}
	p, sub, err := tab.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	return p, sub
}

// followed reads all events of a subscriber.
func followed(tab *table, p *Process, sub *Subscriber, owner bool) ([]Event, error) {
	var seen []Event
	err := follow(context.Background(), &Stream{Table: tab, Process: p, sub: sub, clock: tab.own, owner: owner,
		Sink: EventSinkFunc(func(e Event) error { seen = append(seen, e); return nil })})
	return seen, err
}

// wantTally compares the books.
func wantTally(t *testing.T, tab *table, b *books, started, ok, failed, killed, active int) {
	t.Helper()
	r := tab.read(b)
	got := fmt.Sprint(r.Started, r.Finished[FinishOK], r.Finished[FinishError], r.Finished[FinishKilled], r.Active)
	if want := fmt.Sprint(started, ok, failed, killed, active); got != want {
		t.Errorf("started, ok, error, killed, active = %s, want %s", got, want)
	}
}

func TestEveryEndIsCountedOnceAndAsWhatItWas(t *testing.T) {
	t.Parallel()
	pid := func(p *Process) Selector { return Selector{PID: p.PID} }
	cases := []struct {
		name               string
		end                func(t *testing.T, tab *table, p *Process, run *gatewaytest.Process)
		ok, failed, killed int
		status             string
	}{
		{"exit 0 is ok", func(_ *testing.T, _ *table, _ *Process, r *gatewaytest.Process) {
			r.Exit(virtual.Status{})
		}, 1, 0, 0, "exit status 0"},
		{"another exit code is an error", func(_ *testing.T, _ *table, _ *Process, r *gatewaytest.Process) {
			r.Exit(virtual.Status{Code: 3})
		}, 0, 1, 0, "exit status 3"},
		{"a signal not sent through the gateway is an error", func(_ *testing.T, _ *table, _ *Process, r *gatewaytest.Process) {
			r.Exit(virtual.Status{Signal: syscall.SIGTERM})
		}, 0, 1, 0, "signal: terminated"},
		{"a death of SIGTERM sent through the gateway is killed", func(t *testing.T, tab *table, p *Process, _ *gatewaytest.Process) {
			if err := tab.Terminate(pid(p)); err != nil {
				t.Error(err)
			}
		}, 0, 0, 1, "signal: terminated"},
		{"SIGKILL is killed, and a second one finds nothing", func(t *testing.T, tab *table, p *Process, _ *gatewaytest.Process) {
			if err := tab.Kill(pid(p)); err != nil {
				t.Error(err)
			}
			if err := tab.Kill(pid(p)); !errors.Is(err, ErrNotFound) {
				t.Errorf("second kill: %v, want ErrNotFound", err)
			}
		}, 0, 0, 1, "signal: killed"},
		{"a deadline is killed", func(_ *testing.T, tab *table, p *Process, _ *gatewaytest.Process) {
			tab.Expire(p)
		}, 0, 0, 1, "signal: killed"},
		{"a kill after an unnoticed exit finds nothing", func(t *testing.T, tab *table, p *Process, r *gatewaytest.Process) {
			tab.mu.Lock() // the watcher cannot notice
			r.Exit(virtual.Status{})
			err := tab.end(p, byKill)
			tab.mu.Unlock()
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("kill: %v, want ErrNotFound", err)
			}
		}, 1, 0, 0, "exit status 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tab, b, box := newStubTable(t)
			p, sub := run(t, tab, Spec{})
			wantTally(t, tab, b, 1, 0, 0, 0, 1)
			c.end(t, tab, p, box.At(0))
			events, _ := followed(tab, p, sub, false)
			wantTally(t, tab, b, 1, c.ok, c.failed, c.killed, 0)
			if len(events) != 2 || events[0].Kind != EventStart || events[1].End.Status != c.status {
				t.Errorf("events %+v, want start and an end with status %q", events, c.status)
			}
			if len(tab.List()) != 0 {
				t.Error("an ended process is still listed")
			}
		})
	}
}

func TestAFailureBeforeStartCountsNothing(t *testing.T) {
	t.Parallel()
	tab, b, _ := newStubTable(t)
	dir := "/missing"
	_, _, err := tab.Start(Spec{Config: &envd.ProcessConfig{Cmd: "x", Cwd: &dir}})
	if reason, ok := spawnReason(err); !ok || !strings.Contains(reason, dir) {
		t.Fatalf("error %v, want a spawn error that names %s", err, dir)
	}
	full := "/full"
	if _, _, err := tab.Start(Spec{Config: &envd.ProcessConfig{Cmd: "x", Cwd: &full}}); connect.CodeOf(startError(err)) != connect.CodeResourceExhausted {
		t.Errorf("without memory: %v, want resource_exhausted", err)
	}
	wantTally(t, tab, b, 0, 0, 0, 0, 0)
}

func TestAKillRacesTheExitAndTheBooksAgreeWithTheEndEvents(t *testing.T) {
	t.Parallel()
	tab, b, box := newStubTable(t)
	killed, exited := 0, 0
	for i := range 200 {
		p, sub := run(t, tab, Spec{})
		proc := box.At(i)
		var race sync.WaitGroup
		var err error
		race.Go(func() { proc.Exit(virtual.Status{}) })
		race.Go(func() { err = tab.Kill(Selector{PID: p.PID}) })
		race.Wait()
		events, _ := followed(tab, p, sub, false)
		end := events[len(events)-1].End
		switch {
		case err == nil && end.Status == "signal: killed":
			killed++
		case errors.Is(err, ErrNotFound) && end.Status == "exit status 0":
			exited++
		default:
			t.Fatalf("kill returned %v, and the end event is %+v", err, end)
		}
	}
	wantTally(t, tab, b, 200, exited, 0, killed, 0)
}

func TestTheEndComesWhenTheOutputIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, b, box := newStubTable(t)
		p, sub := run(t, tab, Spec{})
		proc := box.At(0)
		proc.Hold(1)
		proc.Exit(virtual.Status{})
		synctest.Wait()
		wantTally(t, tab, b, 1, 1, 0, 0, 0)
		if p.ending() != nil {
			t.Fatal("the end event came while a child held the output")
		}
		proc.Print("late\n")
		proc.LetGo()
		events, _ := followed(tab, p, sub, false)
		if len(events) != 3 || string(events[1].Chunk.Data) != "late\n" || events[2].Kind != EventEnd {
			t.Errorf("events %+v, want start, late, end", events)
		}
	})
}

func TestAfterAKillTheEndDoesNotWaitForOrphans(t *testing.T) {
	t.Parallel()
	tab, _, box := newStubTable(t)
	p, sub := run(t, tab, Spec{})
	proc := box.At(0)
	proc.Hold(1)
	proc.Print("own output, unterminated")
	if err := tab.Kill(Selector{PID: p.PID}); err != nil {
		t.Fatal(err)
	}
	events, _ := followed(tab, p, sub, false)
	if len(events) != 3 || string(events[1].Chunk.Data) != "own output, unterminated" {
		t.Errorf("events %+v, want start, the output, end", events)
	}
	proc.Print("of an orphan\n") // must neither block nor show
	proc.LetGo()
}

func TestAnEndedProcessAnswersConnectForThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, _, box := newStubTable(t)
		tab.own = clock{10}
		p, sub := run(t, tab, Spec{})
		sub.close()
		box.At(0).Exit(virtual.Status{Code: 7})
		synctest.Wait()

		if _, err := tab.Find(Selector{PID: p.PID}); !errors.Is(err, ErrNotFound) {
			t.Errorf("find: %v, want ErrNotFound", err)
		}
		testkit.Advance(3*time.Second - time.Millisecond)
		again, err := tab.Attach(Selector{PID: p.PID})
		if err != nil {
			t.Fatalf("just before 30 s on a clock ten times as fast: %v", err)
		}
		events, _ := followed(tab, again, again.hub.subscribe(), false)
		if len(events) != 2 || events[1].End.Code != 7 {
			t.Errorf("events %+v, want start and end with code 7", events)
		}
		testkit.Advance(2 * time.Millisecond)
		if _, err := tab.Attach(Selector{PID: p.PID}); !errors.Is(err, ErrNotFound) {
			t.Errorf("after it: %v, want ErrNotFound", err)
		}
	})
}

func TestATagMeansTheYoungestProcessThatHasIt(t *testing.T) {
	t.Parallel()
	tab, _, _ := newStubTable(t)
	one, two := "one", "two"
	run(t, tab, Spec{Tag: &one})
	p2, _ := run(t, tab, Spec{Tag: &two})
	p3, _ := run(t, tab, Spec{Tag: &one})
	for tag, want := range map[string]*Process{"one": p3, "two": p2} {
		if got, err := tab.Find(Selector{Tag: &tag}); err != nil || got != want {
			t.Errorf("tag %s: %v, %v", tag, got, err)
		}
	}
	none := "three"
	if _, err := tab.Find(Selector{Tag: &none}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown tag: %v", err)
	}
}

func TestTheOwnersStreamEndsWithTheDeadlineAndOthersSeeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, b, box := newStubTable(t)
		p, sub := run(t, tab, Spec{Limit: time.Second})
		other := p.hub.subscribe()
		box.At(0).Print("so far\n")
		start := time.Now()
		events, err := followed(tab, p, sub, true)
		if !errors.Is(err, context.DeadlineExceeded) || len(events) != 2 || string(events[1].Chunk.Data) != "so far\n" {
			t.Errorf("owner: %+v, %v; want start, data and the deadline", events, err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
		if events, err := followed(tab, p, other, false); err != nil || events[len(events)-1].End.Status != "signal: killed" {
			t.Errorf("other: %+v, %v; want an end by SIGKILL", events, err)
		}
		wantTally(t, tab, b, 1, 0, 0, 1, 0)
	})
}

func TestATableHasRoomForSoManyProcesses(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	tab := g.table
	tab.busy = maxProcesses - 1
	p, sub := run(t, tab, Spec{Config: &envd.ProcessConfig{Cmd: "/bin/cat"}, Stdin: true})
	defer sub.close()
	if _, _, err := tab.Start(Spec{Config: &envd.ProcessConfig{Cmd: "/bin/true"}}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("one too many: %v", err)
	}
	if err := tab.Kill(Selector{PID: p.PID}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, func() error { // the end of the process is noticed
		_, sub, err := tab.Start(Spec{Config: &envd.ProcessConfig{Cmd: "/bin/true"}})
		if err == nil {
			sub.close()
		}
		return err
	})
}
