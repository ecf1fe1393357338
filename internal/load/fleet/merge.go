package fleet

import (
	"encoding/json"
	"fmt"

	"assay/internal/load"
)

// shard is the merged part of one worker.
type shard struct {
	number, attempt int
	digest          *digest
	counts          load.Counts
	seal            *seal
	whole           bool // all windows of the seal are merged
	done            bool // the last window was that of the end
	failure         string
	cpu             float64
	rss             int64
	late            int // windows behind the seal
}

// merger merges the windows of a round into a sink. It is for one goroutine.
type merger struct {
	sink   load.Merger
	shards []*shard
}

func newMerger(sink load.Merger, attempts []int) *merger {
	m := &merger{sink: sink}
	for i, a := range attempts {
		m.shards = append(m.shards, &shard{number: i, attempt: a, digest: newDigest()})
	}
	return m
}

// window merges a window, once: one that was merged before, that of another attempt, and one behind the seal change nothing.
func (m *merger) window(id windowID, payload []byte) error {
	if id.shard < 0 || id.shard >= len(m.shards) {
		return nil
	}
	s := m.shards[id.shard]
	switch {
	case id.attempt != s.attempt || id.seq <= s.digest.windows:
		return nil
	case s.seal != nil && id.seq > s.seal.Windows:
		s.late++
		return nil
	case id.seq > s.digest.windows+1:
		return fmt.Errorf("window %d of worker %d is missing on the bus", s.digest.windows+1, s.number+1)
	}
	var w load.Window
	if err := json.Unmarshal(payload, &w); err != nil {
		return fmt.Errorf("window %d of worker %d: %w", id.seq, s.number+1, err)
	}
	if err := m.sink.Absorb(&w, s.number, len(m.shards)); err != nil {
		return fmt.Errorf("window %d of worker %d: %w", id.seq, s.number+1, err)
	}
	s.digest.add(payload, w.Counts.Outcomes.Total())
	s.counts.Add(&w.Counts)
	if w.Done {
		s.done, s.failure, s.cpu, s.rss = true, w.Error, w.CPU, w.RSS
	}
	return m.check(s)
}

// sealed notes the seal of a shard.
func (m *merger) sealed(number int, of *seal) error {
	if number < 0 || number >= len(m.shards) || m.shards[number].seal != nil {
		return nil
	}
	s := m.shards[number]
	if of.Attempt != s.attempt {
		return fmt.Errorf("worker %d is sealed by attempt %d, and attempt %d began", number+1, of.Attempt, s.attempt)
	}
	s.seal = of
	return m.check(s)
}

// check compares a shard with its seal, once all windows of it are there.
func (m *merger) check(s *shard) error {
	if s.seal == nil || s.whole || s.digest.windows < s.seal.Windows {
		return nil
	}
	if err := s.digest.check(s.seal); err != nil {
		return fmt.Errorf("worker %d: %w", s.number+1, err)
	}
	s.whole = true
	if s.seal.Lost != "" {
		m.sink.Leave(s.counts.Live)
	}
	return nil
}

// complete reports whether all shards are sealed and merged.
func (m *merger) complete() bool {
	for _, s := range m.shards {
		if !s.whole {
			return false
		}
	}
	return true
}
