package judge

import (
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// grade is the result of judging one requirement, best first.
type grade int

const (
	holds        grade = iota // the requirement holds
	unsupported               // the requirement does not apply to the target
	inconclusive              // the evidence does not suffice
	toolError                 // a defect of Assay, not of the target
	violated                  // the target broke the requirement
)

// finding is the result of judging one requirement once: the grade, why, and where.
type finding struct {
	grade   grade
	message string
	// symptom classifies a breach, or the reason why the requirement could not be judged.
	symptom bundle.Symptom
	// seen names the observed response if several are legal.
	seen string
	vain bool // it is an unmet wait, or a missed time limit
	at   bundle.Evidence
}

func (f finding) ok() bool { return f.grade == holds }

// as returns the finding with a symptom, unless it has one or holds.
func (f finding) as(s bundle.Symptom) finding {
	if f.grade != holds && f.symptom == "" {
		f.symptom = s
	}
	return f
}

// worst returns the finding with the worse grade; a if they are equal.
func worst(a, b finding) finding {
	if b.grade > a.grade {
		return b
	}
	return a
}

// tally collects the findings of one rule on one observation.
type tally struct {
	worst  finding
	looked int // number of findings
	broken int
	seen   []string
	counts map[string]int
	// byIteration has the worst grade of each iteration, and ofIterations the number of breaches in
	// them; the other breaches are those of all iterations together.
	byIteration  map[int]grade
	ofIterations int
}

// maxSeen limits the listed legal responses.
const maxSeen = 8

func (t *tally) add(f finding) {
	one := &tally{worst: f, looked: 1}
	if f.grade == violated {
		one.broken = 1
	}
	if f.ok() && f.seen != "" && len(t.seen) < maxSeen {
		one.seen = []string{f.seen}
	}
	t.merge(one)
}

// addOf adds a finding of one iteration.
func (t *tally) addOf(s *scene, f finding) {
	t.add(f)
	if t.byIteration == nil {
		t.byIteration = map[int]grade{}
	}
	t.byIteration[s.it.Index] = max(t.byIteration[s.it.Index], f.grade)
	if f.grade == violated {
		t.ofIterations++
	}
}

// merge adds the findings of o to those of t.
func (t *tally) merge(o *tally) {
	if o == nil || o.looked == 0 {
		return
	}
	if t.looked == 0 {
		t.worst = o.worst
	} else {
		t.worst = worst(t.worst, o.worst)
	}
	t.looked += o.looked
	t.broken += o.broken
	for _, s := range o.seen {
		if !slices.Contains(t.seen, s) {
			t.seen = append(t.seen, s)
		}
	}
	for name, n := range o.counts {
		t.count(name, n)
	}
	if t.byIteration == nil && o.byIteration != nil {
		t.byIteration = map[int]grade{}
	}
	for index, g := range o.byIteration {
		t.byIteration[index] = max(t.byIteration[index], g)
	}
	t.ofIterations += o.ofIterations
}

func (t *tally) count(name string, n int) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[name] += n
}

func (t *tally) seenText() string { return strings.Join(t.seen, ", ") }
