package fleet

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// sum is a sink that adds up what it absorbs.
type sum struct {
	load.Sink

	counts load.Counts
	left   int64
}

func (s *sum) Absorb(w *load.Window, _, _ int) error {
	s.counts.Add(&w.Counts)
	return nil
}

func (s *sum) Leave(open int64) { s.left += open }

// windowOf returns a window in which so many streams ended.
func windowOf(t *testing.T, ended int64) []byte {
	t.Helper()
	w := load.Window{Counts: load.Counts{Opening: ended + 1, Live: 1}}
	w.Counts.Outcomes[bundle.StreamOK] = ended
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Windows of several shards, mixed at random, some of them twice, some of attempts that did not begin, and some behind the seal
// of a lost worker: exactly the sealed ones are merged.
func TestExactlyTheSealedWindowsAreMerged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		draw := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
		n := 1 + draw.IntN(8)
		attempts, next, own := make([]int, n), make([]int, n), make([]*digest, n)
		for i := range n {
			attempts[i], own[i] = 1+draw.IntN(3), newDigest()
		}
		sink := &sum{}
		m := newMerger(sink, attempts)
		want := int64(0)
		for range 100 {
			i, ended := draw.IntN(n), int64(draw.IntN(50))
			text := windowOf(t, ended)
			id := windowID{1, i, attempts[i], next[i] + 1}
			if draw.IntN(5) == 0 {
				id.attempt++
			} else {
				next[i]++
				own[i].add(text, ended)
				want += ended
			}
			for range 1 + draw.IntN(2) {
				if err := m.window(id, text); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range n {
			s := own[i].seal(attempts[i])
			if i == 0 {
				s.Lost = "gone"
			}
			if err := m.sealed(i, &s); err != nil {
				t.Fatal(err)
			}
			if err := m.window(windowID{1, i, attempts[i], next[i] + 1}, windowOf(t, 7)); err != nil {
				t.Fatal(err)
			}
		}
		if got := sink.counts.Outcomes.Total(); got != want || !m.complete() || sink.left != int64(next[0]) || m.shards[0].late != 1 {
			t.Fatalf("seed %d: %d streams ended, want %d; complete: %v; %d were left open", seed, got, want, m.complete(), sink.left)
		}
	}
}

// What does not fit together is an error that names the worker.
func TestWindowsThatDoNotFitAreErrors(t *testing.T) {
	t.Parallel()
	good := seal{Attempt: 1, Windows: 1}
	for want, play := range map[string]func(m *merger) error{
		"window 1 of worker 1 is missing": func(m *merger) error { return m.window(windowID{1, 0, 1, 2}, windowOf(t, 1)) },
		"window 1 of worker 1: ":          func(m *merger) error { return m.window(windowID{1, 0, 1, 1}, []byte("x")) },
		"is sealed by attempt 2":          func(m *merger) error { return m.sealed(0, &seal{Attempt: 2}) },
		"the windows are not those of the seal": func(m *merger) error {
			if err := m.sealed(0, &good); err != nil {
				return err
			}
			return m.window(windowID{1, 0, 1, 1}, windowOf(t, 1))
		},
	} {
		if err := play(newMerger(&sum{}, []int{1})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	m := newMerger(&sum{}, []int{1})
	if err := m.window(windowID{1, 9, 1, 1}, nil); err != nil || m.sealed(9, &good) != nil || m.complete() {
		t.Errorf("a shard that is not there: %v", err)
	}
}

// A window that is too large for a message is several, and they add up to it.
func TestALargeWindowIsSplit(t *testing.T) {
	t.Parallel()
	w := &load.Window{Counts: load.Counts{Opening: 5}, Done: true, Refused: "no", CPU: 1}
	for range 10 {
		w.Examples = append(w.Examples, bundle.LoadExample{Message: strings.Repeat("m", 1000)})
	}
	for range 10 {
		w.Values = append(w.Values, load.Values{Histogram: strings.Repeat("A", 6<<10)})
	}
	all := split(w, 20<<10)
	values, opened, done := 0, int64(0), 0
	for i, one := range all {
		text, err := json.Marshal(one)
		if err != nil || len(text) > 20<<10 {
			t.Errorf("message %d has %d bytes, %v", i, len(text), err)
		}
		values, opened = values+len(one.Values), opened+one.Counts.Opening
		if one.Done {
			done = i
		}
	}
	if len(all) < 3 || values != 10 || opened != 5 || done != len(all)-1 {
		t.Errorf("%d messages, %d values, %d opened, the end in message %d", len(all), values, opened, done)
	}
}
