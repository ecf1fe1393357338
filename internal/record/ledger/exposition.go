package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxProblems limits the problems of one exposition.
const maxProblems = 50

// ShouldPrefix begins a problem that breaks a naming recommendation of the format, not its
// grammar.
const ShouldPrefix = "should: "

// ReadCounters parses a Prometheus text exposition (format 0.0.4) strictly and
// sums the series of n. It counts everything readable and reports every breach as a problem
// "line N: …", at most 50. Beyond the grammar it requires what common parsers do not: one
// TYPE and one HELP per family, both before its samples, the samples of a family in one
// group, no duplicate series, a final newline, and counters that are numbers and not
// negative.
func ReadCounters(body []byte, n Names) (c Counters, problems []string) {
	r := &reader{
		names:    n,
		counters: Counters{Has: map[string]bool{}},
		families: map[string]*family{},
		series:   map[string]int{},
	}
	r.read(body)
	r.finish()
	return r.counters, r.problems
}

// family is the state of one metric family.
type family struct {
	typ      string
	help     bool
	samples  bool
	closed   bool // another family's sample followed its samples
	typeLine int
	nameSaid bool // the breach of the naming rule was reported
	typeSaid bool // the wrong type was reported
}

type reader struct {
	names    Names
	counters Counters
	families map[string]*family
	series   map[string]int // name and labels -> line
	current  string         // family of the last sample
	line     int
	problems []string
}

func (r *reader) problem(format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("line %d: ", r.line)+fmt.Sprintf(format, args...))
	}
}

func (r *reader) read(body []byte) {
	for len(body) > 0 {
		r.line++
		line, rest, ended := bytes.Cut(body, []byte{'\n'})
		if !ended {
			r.problem("the exposition does not end with a newline")
		}
		if !utf8.Valid(line) {
			r.problem("not UTF-8")
			line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
		}
		r.readLine(string(line))
		body = rest
	}
}

func (r *reader) readLine(line string) {
	if strings.HasSuffix(line, "\r") {
		r.problem("a carriage return before the newline")
		line = strings.TrimSuffix(line, "\r")
	}
	line = strings.Trim(line, " \t")
	switch {
	case line == "":
	case line[0] == '#':
		r.readComment(line[1:])
	default:
		s, err := parseSample(line)
		if err != nil {
			r.problem("%v", err)
			return
		}
		r.sample(s)
	}
}

// readComment reads the text after '#': HELP, TYPE, or an ordinary comment.
func (r *reader) readComment(text string) {
	word, rest := cutBlank(text)
	if word != "HELP" && word != "TYPE" {
		return
	}
	name, rest := cutBlank(rest)
	if !validName(name, true) {
		r.problem("%s of %q, which is not a metric name", word, name)
		return
	}
	f := r.family(name)
	if word == "HELP" {
		if f.help {
			r.problem("a second HELP for %s", name)
		}
		f.help = true
		r.checkHelp(name, rest)
		return
	}
	switch typ := strings.Trim(rest, " \t"); {
	case f.typ != "":
		r.problem("a second TYPE for %s, the first is in line %d", name, f.typeLine)
	case f.samples:
		r.problem("TYPE of %s after its samples", name)
		f.typ, f.typeLine = typ, r.line
	default:
		f.typ, f.typeLine = typ, r.line
		if !slices.Contains(metricTypes, typ) {
			r.problem("TYPE %q of %s is not counter, gauge, histogram, summary or untyped", typ, name)
		}
	}
}

func (r *reader) checkHelp(name, text string) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if i == len(text) || (text[i] != '\\' && text[i] != 'n') {
			r.problem(`HELP of %s has an escape other than \\ and \n`, name)
			return
		}
	}
}

func (r *reader) family(name string) *family {
	f := r.families[name]
	if f == nil {
		f = &family{}
		r.families[name] = f
	}
	return f
}

// familyOf finds the family of a sample: its own name, or the histogram or summary that it
// belongs to.
func (r *reader) familyOf(sample string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, cut := strings.CutSuffix(sample, suffix)
		if !cut {
			continue
		}
		if f := r.families[base]; f != nil && (f.typ == "histogram" || f.typ == "summary" && suffix != "_bucket") {
			return base
		}
	}
	return sample
}

func (r *reader) sample(s sample) {
	name := r.familyOf(s.name)
	f := r.family(name)
	if r.current != name {
		if f.closed {
			r.problem("samples of %s in a second group", name)
		}
		if old := r.families[r.current]; old != nil {
			old.closed = true
		}
		r.current = name
	}
	f.samples = true
	key := s.key()
	if first, again := r.series[key]; again {
		r.problem("duplicate series %s, first in line %d", s.text(), first)
		return
	}
	r.series[key] = r.line
	if f.typ == "counter" {
		r.checkCounter(name, f, s)
	}
	r.count(s)
}

func (r *reader) checkCounter(name string, f *family, s sample) {
	switch {
	case math.IsNaN(s.value):
		r.problem("counter %s is not a number", s.text())
	case s.value < 0:
		r.problem("counter %s is negative: %s", s.text(), Number(s.value))
	}
	if !strings.HasSuffix(name, "_total") && !f.nameSaid {
		f.nameSaid = true
		r.problem(ShouldPrefix+"the name of counter %s ends in _total", name)
	}
}

// count adds a sample to the counters if it belongs to them.
func (r *reader) count(s sample) {
	switch s.name {
	case "":
	case r.names.Started:
		r.want(s, "counter")
		r.add(s, KeyStarted, &r.counters.Started)
	case r.names.Active:
		r.want(s, "gauge")
		if s.value < 0 {
			r.problem("%s is below zero: %s", s.text(), Number(s.value))
		}
		r.add(s, KeyActive, &r.counters.Active)
	case r.names.Finished:
		r.want(s, "counter")
		r.finished(s)
	}
}

func (r *reader) finished(s sample) {
	status, ok := s.label("status")
	switch {
	case !ok:
		r.problem("%s has no label status", s.text())
	case status == KeyOK:
		r.add(s, KeyOK, &r.counters.OK)
	case status == KeyError:
		r.add(s, KeyError, &r.counters.Error)
	case status == KeyKilled:
		r.add(s, KeyKilled, &r.counters.Killed)
	default:
		r.problem("%s has a status that is not ok, error or killed", s.text())
	}
}

func (r *reader) want(s sample, typ string) {
	f := r.families[s.name]
	if f.typ == typ || f.typ == "" || f.typ == "untyped" || f.typeSaid {
		return
	}
	f.typeSaid = true
	r.problem("%s has the type %s, want %s", s.name, f.typ, typ)
}

func (r *reader) add(s sample, key string, to *float64) {
	r.counters.Has[key] = true
	if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
		r.problem("%s is %g, want a finite number", s.text(), s.value)
		return
	}
	sum := *to + s.value
	if math.IsInf(sum, 0) {
		r.problem("%s is %g: the sum of its family is not a finite number", s.text(), s.value)
		return
	}
	*to = sum
}

var metricTypes = []string{"counter", "gauge", "histogram", "summary", "untyped"}

// finish reports problems that only show at the end: a TYPE or HELP without samples is
// legal; a histogram without a bucket is not.
func (r *reader) finish() {
	for _, name := range slices.Sorted(maps.Keys(r.families)) {
		if f := r.families[name]; f.typ == "histogram" && f.samples && !r.hasInfBucket(name) {
			r.line = f.typeLine
			r.problem(`histogram %s has no bucket le="+Inf"`, name)
		}
	}
}

func (r *reader) hasInfBucket(name string) bool {
	for key := range r.series {
		if strings.HasPrefix(key, name+"_bucket\x00") && strings.Contains(key, "le\x01+Inf\x00") {
			return true
		}
	}
	return false
}
