package suites

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// The bounds of Options.Memory.
const (
	DefaultMemory = 512 << 20
	MinMemory     = 128 << 20
)

// Records returns the part of the program's memory that records of a run may take. The rest is
// for the program itself, for garbage, and for records that are encoded, judged or copied.
func Records(memory int64) int64 { return memory / 4 }

// reduce drops evidence that is judged and stored: all of a passing observation, and that of
// others when they take half of the memory for records.
func (s *session) reduce(o *bundle.Observation, worst bundle.Conclusion) {
	before := o.Size()
	s.mu.Lock()
	defer s.mu.Unlock()
	full := s.evidence+before > Records(s.opts.Memory)/2
	passes := worst == bundle.Pass || worst == bundle.Unsupported || worst == bundle.NotRun
	if full && !passes {
		o.Omitted = &bundle.Omission{Bytes: before, Reason: "the records of the run took too much memory"}
		s.dropped++
	}
	if passes || full {
		o.Outline()
		for i := range o.Scrapes {
			o.Scrapes[i].Body = s.counters(o.Scrapes[i].Body)
		}
	}
	after := o.Size()
	s.evidence += after
	s.target.Memory().Give(before - after)
}

// release returns the memory of observations that are soon dropped; nil ones have none.
func (s *session) release(all []*bundle.Observation) {
	for _, o := range all {
		if o != nil {
			s.target.Memory().Give(o.Size())
		}
	}
}

// noteDropped tells that failures have no excerpt because of the memory.
func (s *session) noteDropped() {
	if s.dropped > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d observations are not excerpted or reproduced here: they exceed --memory %s", s.dropped, bundle.Megabytes(s.opts.Memory)))
	}
}

// maxCounters is how much of an exposition is kept.
const maxCounters = 64 << 10

// counters returns the lines of an exposition about the metrics of the profile.
func (s *session) counters(exposition []byte) []byte {
	var kept []byte
	for line := range strings.Lines(string(exposition)) {
		named := slices.ContainsFunc(s.metrics(), func(name string) bool { return strings.Contains(line, name) })
		if named && len(kept)+len(line) <= maxCounters {
			kept = append(kept, line...)
		}
	}
	return kept
}

// metrics returns the names of the metrics of the profile.
func (s *session) metrics() []string {
	var names []string
	for _, name := range s.profile.Metrics {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
