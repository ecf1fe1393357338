package load

import (
	"time"

	"assay/internal/record/bundle"
)

// mostMoments bounds the timeline of a run, whatever its duration.
const mostMoments = 600

// timedMetrics are the distributions of a moment.
var timedMetrics = [...]Metric{FirstEvent, Gap, EndOfStream, DriverLag}

// timedValues are the values of an interval, by index in timedMetrics.
type timedValues [len(timedMetrics)]sparse

// timedAt returns the distributions of a moment, by index in timedMetrics.
func timedAt(m *bundle.LoadMoment) [len(timedMetrics)]*bundle.Latency {
	return [...]*bundle.Latency{&m.FirstEvent, &m.Gap, &m.EndOfStream, &m.DriverLag}
}

// timeline is a run in moments of equal numbers of seconds. When there are too many, neighbours
// are joined, so that each is twice as long. Distributions are kept whole until the report, so
// that the percentiles of a moment are exact, however many seconds it has.
type timeline struct {
	moments []moment
	each    int // seconds of a complete moment
	have    int // seconds of the last moment
}

type moment struct {
	bundle.LoadMoment

	values timedValues
}

// add adds the next second.
func (t *timeline) add(second bundle.LoadMoment, values timedValues) {
	t.each = max(t.each, 1)
	if n := len(t.moments); n > 0 && t.have < t.each {
		t.moments[n-1].join(moment{second, values})
		t.have++
		return
	}
	if len(t.moments) == mostMoments {
		for i := range mostMoments / 2 {
			t.moments[i] = t.moments[2*i]
			t.moments[i].join(t.moments[2*i+1])
		}
		clear(t.moments[mostMoments/2:])
		t.moments, t.each = t.moments[:mostMoments/2], 2*t.each
	}
	t.moments, t.have = append(t.moments, moment{second, values}), 1
}

// join adds the moment that follows.
func (m *moment) join(next moment) {
	m.ToMS, m.Open = next.ToMS, next.Open
	m.Due += next.Due
	m.Begun += next.Begun
	m.Outcomes.Add(next.Outcomes, bundle.StreamOutcomes{})
	for i := range m.values {
		m.values[i] = m.values[i].plus(next.values[i])
	}
}

// report returns the moments with their distributions.
func (t *timeline) report() (out []bundle.LoadMoment) {
	for _, m := range t.moments {
		one := m.LoadMoment
		for i, l := range timedAt(&one) {
			*l = m.values[i].latency()
		}
		out = append(out, one)
	}
	return out
}

// calendar says how many streams a plan wants to begin in each second of the run.
type calendar struct {
	plan  *Plan
	pacer Pacer
	next  int   // the number of the next intended start
	due   int64 // in all
}

func newCalendar(p *Plan) *calendar { return &calendar{plan: p, pacer: p.wholePacer()} }

// until returns how many streams became due since the last call. In the closed model each of
// the streams that ended makes another one due, as long as the schedule lasts; in the second
// in which it ends, as many are due as begun. over says that the schedule was ended early.
func (c *calendar) until(now time.Duration, begun, ended int64, over bool) int64 {
	p := c.plan
	if over {
		return begun
	}
	schedule := now
	if p.Duration > 0 {
		schedule = min(now, p.Duration)
	}
	due := int64(0)
	for p.Count == 0 || c.next < p.Count {
		at, ok := c.pacer.At(c.next)
		if !ok || at >= schedule {
			break
		}
		c.next++
		due++
	}
	if !p.Open() {
		due += ended
		if p.Duration > 0 && now >= p.Duration {
			due = begun
		}
	}
	if p.Count > 0 {
		due = min(due, int64(p.Count)-c.due)
	}
	c.due += due
	return due
}
