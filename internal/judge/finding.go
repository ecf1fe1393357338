package judge

import (
	"slices"
	"strings"

	"assay/internal/bundle"
)

// grade is what one look at an observation says of a requirement, best first.
type grade int

const (
	held    grade = iota // the requirement holds
	lacking              // the target has nothing that it could apply to, and need not have
	unclear              // what is needed to tell is not there
	ours                 // Assay's own doing, not the target's
	broken               // the target broke it
)

// finding is the result of one look: the grade, why, and where.
type finding struct {
	grade   grade
	message string
	// symptom is what a breach looks like, or why nothing could be told.
	symptom bundle.Symptom
	// seen names the legal answer that was seen where several are.
	seen string
	at   bundle.Evidence
}

func (f finding) ok() bool { return f.grade == held }

// as is the finding with a symptom, unless it has one or needs none.
func (f finding) as(s bundle.Symptom) finding {
	if f.grade != held && f.symptom == "" {
		f.symptom = s
	}
	return f
}

// worst returns the finding of the higher grade; of two equal ones the first.
func worst(a, b finding) finding {
	if b.grade > a.grade {
		return b
	}
	return a
}

// tally gathers the findings of one rule on one observation.
type tally struct {
	worst  finding
	looked int // findings in all
	broken int
	seen   []string
	counts map[string]int
}

// maxSeen bounds how many different legal answers are listed.
const maxSeen = 8

func (t *tally) add(f finding) {
	t.looked++
	if f.grade == broken {
		t.broken++
	}
	if t.looked == 1 {
		t.worst = f
	} else {
		t.worst = worst(t.worst, f)
	}
	if f.ok() && f.seen != "" && len(t.seen) < maxSeen && !slices.Contains(t.seen, f.seen) {
		t.seen = append(t.seen, f.seen)
	}
}

// merge adds what o gathered, after what t did.
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
}

func (t *tally) count(name string, n int) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[name] += n
}

func (t *tally) seenText() string { return strings.Join(t.seen, ", ") }
