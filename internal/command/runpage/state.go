package runpage

import (
	"encoding/json"
	"math"

	"assay/reports/page"
)

// Face is what the page shows, without the values.
type Face struct {
	Title, Kicker string
	// Facts are the names of the figures at the top.
	Facts []string
	// Charts have series with names and without points.
	Charts []page.Chart
	// List is the title of the list of entries.
	List string
}

// Entry is one line of the list.
type Entry struct {
	Tone   page.Tone `json:"tone"`
	Symbol string    `json:"symbol"`
	Word   string    `json:"word"`
	Text   string    `json:"text"`
}

// Verdict is how the run ended.
type Verdict struct {
	Tone     page.Tone `json:"tone"`
	Symbol   string    `json:"symbol"`
	Word     string    `json:"word"`
	Sentence string    `json:"sentence"`
}

// The limits of what is kept.
const (
	mostMoments = 600
	mostEntries = 100
)

// moment is one place on the axis of a chart: x, and a value for each series. NaN is none.
type moment []float64

// MarshalJSON returns [x, y, …], with null for none.
func (m moment) MarshalJSON() ([]byte, error) {
	values := make([]*float64, len(m))
	for i, v := range m {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[i] = &v
		}
	}
	return json.Marshal(values)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *moment) UnmarshalJSON(text []byte) error {
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*m = make(moment, len(values))
	for i, v := range values {
		(*m)[i] = math.NaN()
		if v != nil {
			(*m)[i] = *v
		}
	}
	return nil
}

// message changes the page. A whole one replaces its curves and its list, another adds to them.
type message struct {
	Whole    bool                `json:"whole,omitempty"`
	Sentence string              `json:"sentence,omitempty"`
	Facts    []string            `json:"facts,omitempty"`
	Moments  map[string][]moment `json:"moments,omitempty"` // by the id of the chart
	Entries  []Entry             `json:"entries,omitempty"`
	Verdict  *Verdict            `json:"verdict,omitempty"` // the run has ended
}

// state is what the page shows now, and what has changed since its readers were told.
type state struct {
	whole   message
	changed message
	dirty   bool
}

func newState() *state {
	s := &state{whole: message{Whole: true, Moments: map[string][]moment{}}}
	s.changed.Moments = map[string][]moment{}
	return s
}

func (s *state) sentence(text string) {
	s.whole.Sentence, s.changed.Sentence, s.dirty = text, text, true
}

func (s *state) facts(values []string) {
	s.whole.Facts, s.changed.Facts, s.dirty = values, values, true
}

// moment adds a moment to a chart.
func (s *state) moment(chart string, m moment) {
	all := append(s.whole.Moments[chart], m)
	s.dirty = true
	if len(all) > mostMoments {
		s.whole.Moments[chart] = reduce(all)
		s.changed.Whole = true
		return
	}
	s.whole.Moments[chart] = all
	s.changed.Moments[chart] = append(s.changed.Moments[chart], m)
}

// entry adds a line to the list. When there are twice as many as are shown, the older ones go.
func (s *state) entry(e Entry) {
	s.whole.Entries, s.changed.Entries = newest(s.whole.Entries, e), newest(s.changed.Entries, e)
	s.dirty = true
}

func newest(all []Entry, e Entry) []Entry {
	if len(all) == 2*mostEntries {
		all = append([]Entry{}, all[mostEntries:]...)
	}
	return append(all, e)
}

func (s *state) end(v Verdict) {
	s.whole.Verdict, s.changed.Verdict, s.dirty = &v, &v, true
}

// take returns what has changed, or all of it if that cannot be told; nil if nothing has.
func (s *state) take() *message {
	if !s.dirty {
		return nil
	}
	m := s.changed
	if m.Whole {
		m = s.whole
	}
	s.changed, s.dirty = message{Moments: map[string][]moment{}}, false
	return &m
}

// reduce halves the moments: each four become two, which have the smallest and the largest
// values of the four, so that no peak is lost.
func reduce(all []moment) []moment {
	var out []moment
	for ; len(all) >= 4; all = all[4:] {
		low, high := append(moment{}, all[0]...), append(moment{}, all[2]...)
		for i := 1; i < len(low); i++ {
			low[i], high[i] = bounds(all[:4], i)
		}
		out = append(out, low, high)
	}
	return append(out, all...)
}

// bounds returns the smallest and the largest value of a series; NaN if it has none.
func bounds(all []moment, i int) (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for _, m := range all {
		if i >= len(m) || math.IsNaN(m[i]) {
			continue
		}
		if math.IsNaN(low) {
			low, high = m[i], m[i]
		}
		low, high = min(low, m[i]), max(high, m[i])
	}
	return low, high
}
