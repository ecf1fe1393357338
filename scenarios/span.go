package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// maxFixed is the longest fixed part of a span: more than a month.
const maxFixed = 1000 * time.Hour

// ParseSpan reads "500ms", "2rtt", "1.5spawn", or a sum of such terms
// ("1s+4rtt", "500ms-1rtt"). A term may have a sign; a number must have a unit. The fixed
// terms are at most 1,000 hours together.
func ParseSpan(text string) (Span, error) {
	var s Span
	if text == "" {
		return s, fmt.Errorf("an empty span; write it as 500ms, 2rtt or 1s+4rtt")
	}
	for rest := text; rest != ""; {
		end := 1 + strings.IndexAny(rest[1:], "+-")
		if end == 0 {
			end = len(rest)
		}
		if err := s.add(rest[:end]); err != nil {
			return Span{}, fmt.Errorf("%q is not a span: %w", text, err)
		}
		rest = rest[end:]
	}
	return s, nil
}

// add adds one term.
func (s *Span) add(term string) error {
	for _, unit := range []struct {
		suffix string
		field  *float64
	}{{"rtt", &s.RTT}, {"spawn", &s.Spawn}} {
		number, ok := strings.CutSuffix(term, unit.suffix)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(f) {
			return fmt.Errorf("%q needs a number before %s, as in 2%s", term, unit.suffix, unit.suffix)
		}
		if *unit.field += f; math.Abs(*unit.field) >= 1e6 {
			return fmt.Errorf("%q is too long", term)
		}
		return nil
	}
	d, err := time.ParseDuration(term)
	if err != nil {
		return fmt.Errorf("%q is not a time; the units are ns, us, ms, s, m, h, rtt and spawn", term)
	}
	if sum := s.Fixed + d; d.Abs() <= maxFixed && sum.Abs() <= maxFixed {
		s.Fixed = sum
		return nil
	}
	return fmt.Errorf("%q is too long: a fixed time is at most %gh", term, maxFixed.Hours())
}

// String returns the span in the form that ParseSpan reads.
func (s Span) String() string {
	var terms []string
	if s.Fixed != 0 {
		terms = append(terms, s.Fixed.String())
	}
	if s.RTT != 0 {
		terms = append(terms, strconv.FormatFloat(s.RTT, 'f', -1, 64)+"rtt")
	}
	if s.Spawn != 0 {
		terms = append(terms, strconv.FormatFloat(s.Spawn, 'f', -1, 64)+"spawn")
	}
	if len(terms) == 0 {
		return "0s"
	}
	return strings.ReplaceAll(strings.Join(terms, "+"), "+-", "-")
}

// UnmarshalYAML reads a span from its text.
func (s *Span) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := ParseSpan(n.Value)
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// ParseRange reads "-2rtt..+2rtt": two spans, the first not above the second in any unit.
func ParseRange(text string) (Range, error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return Range{}, fmt.Errorf("%q is not a range; write it as -2rtt..+2rtt", text)
	}
	var r Range
	var err error
	if r.From, err = ParseSpan(from); err != nil {
		return Range{}, err
	}
	if r.To, err = ParseSpan(to); err != nil {
		return Range{}, err
	}
	if r.From.Fixed > r.To.Fixed || r.From.RTT > r.To.RTT || r.From.Spawn > r.To.Spawn {
		return Range{}, fmt.Errorf("the end of the range %q is before its start", text)
	}
	return r, nil
}

// UnmarshalYAML reads a range from its text.
func (r *Range) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := ParseRange(n.Value)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}
