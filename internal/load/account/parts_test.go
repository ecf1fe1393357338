package account

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
)

func TestTimersComeInOrder(t *testing.T) {
	var h timers
	var want []int64
	draw := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		at := draw.Int64N(100)
		h.push(timer{at: at})
		want = append(want, at)
	}
	slices.Sort(want)
	for i, at := range want {
		if got := h.pop().at; got != at {
			t.Fatalf("timer %d is at %d, want %d", i, got, at)
		}
	}
	if len(h) != 0 {
		t.Errorf("%d are left", len(h))
	}
}

func TestAQueueKeepsTheOrderAndItsMemory(t *testing.T) {
	var q Queue[int]
	next, want := 0, 0
	for range 1000 {
		for range 3 {
			q.Push(next)
			next++
		}
		for range 3 {
			if got := q.Pop(); got != want {
				t.Fatalf("%d, want %d", got, want)
			}
			want++
		}
		q.Push(next) // the queue is never empty for long
		next++
		if got := q.Pop(); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
		want++
	}
	if q.Len() != 0 || cap(q.items) > 64 {
		t.Errorf("%d items, room for %d", q.Len(), cap(q.items))
	}
}

// The first part waits for the others, but not for one whose driver fails.
func TestALostPartEndsTheRun(t *testing.T) {
	p := plan(t, load.ProtocolConnect, load.CodecJSON, load.Check{})
	p.Count, p.Duration = 0, time.Hour
	first := conduct(p, &loadtest.Last{})
	other := &fake{run: first.run}
	other.Streams = first.run.Add(other, func() int64 { return first.time })
	other.Lost()
	for range 10 {
		first.Tend(first.time)
		for _, i := range first.opened {
			first.giveUp(i, first.At(i), errHungUp)
		}
		first.time += int64(time.Minute)
	}
	if !first.Done() || !other.Done() {
		t.Errorf("the first part is done: %v, the lost one: %v", first.Done(), other.Done())
	}
}

func TestEventsThatShareAReadAreNoGaps(t *testing.T) {
	sink := &gapSink{}
	f := conduct(plan(t, load.ProtocolConnect, load.CodecJSON, load.Check{}), sink)
	i, s := f.begin()
	read := func(at int64, events int) {
		f.Reading(at)
		for range events {
			f.touch(i, s)
		}
		f.EndRead(false)
	}
	read(10, 1)
	read(20, 1) // 10
	read(30, 2) // a group
	read(45, 1) // 15
	if want := []time.Duration{10, 15}; !slices.Equal(sink.gaps, want) || f.gaps.unsaid != 2 {
		t.Errorf("gaps %v and %d kept out, want %v and 2", sink.gaps, f.gaps.unsaid, want)
	}
	f.tellGaps()
	if len(sink.gaps) != 2 {
		t.Errorf("unknown gaps are recorded beside known ones: %v", sink.gaps)
	}
	f.Reading(50)
	f.touch(i, s)
	f.EndRead(true)
	if len(sink.gaps) != 2 {
		t.Errorf("a vague gap was recorded: %v", sink.gaps)
	}
}

// gapSink keeps gaps.
type gapSink struct {
	loadtest.Last

	gaps []time.Duration
}

func (g *gapSink) Record(_, _ int, m load.Metric, d time.Duration) {
	if m == load.Gap {
		g.gaps = append(g.gaps, d)
	}
}

func TestGroupsAreTheGapsOfAGatewayThatSendsGroups(t *testing.T) {
	sink := &gapSink{}
	f := conduct(plan(t, load.ProtocolConnect, load.CodecJSON, load.Check{}), sink)
	i, s := f.begin()
	for n := range 4 {
		f.Reading(int64(n+1) * int64(time.Second))
		f.touch(i, s)
		f.touch(i, s)
		f.EndRead(false)
	}
	f.tellGaps()
	if len(sink.gaps) != 3 || sink.gaps[0] < 990*time.Millisecond || sink.gaps[0] > 1010*time.Millisecond {
		t.Errorf("%v, want three of 1 s", sink.gaps)
	}
}
