package bundle

import (
	"cmp"
	"slices"
	"strings"
)

// ReproducerSchema names the version of a reproducer's JSON form.
const ReproducerSchema = "assay.reproducer/v1"

// ReproducerKind is the kind of a reproducer.
type ReproducerKind string

// The kinds.
const (
	ReproduceReplay ReproducerKind = "replay" // an Assay command
	ReproduceCurl   ReproducerKind = "curl"   // a curl line
	ReproduceShell  ReproducerKind = "shell"  // a shell script that writes the exact bytes
)

// maxOutput limits the kept output of a reproducer.
const maxOutput = 16 << 10

// Reproducer is a text that reproduces one failure, with the result of trying it.
type Reproducer struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
	// Rule is the rule whose failure it shows, empty for all rules of the scenario.
	Rule string         `json:"rule,omitempty"`
	Kind ReproducerKind `json:"kind"`
	// Text is input for a POSIX shell.
	Text string `json:"text"`
	// Ran is set if it was tried at the end of the run; otherwise Output says why not.
	Ran bool `json:"ran"`
	// Shown is set if it ran and reproduced the failure.
	Shown bool `json:"shown"`
	// Output is its output, at most 16 KiB, or the reason why it did not run.
	Output string `json:"output,omitempty"`
}

// Reproducer appends one reproducer as one line of reproducers.jsonl. It sets the schema
// and truncates the output to 16 KiB.
func (w *Writer) Reproducer(r Reproducer) error {
	if w == nil || w.dir == "" {
		return nil
	}
	r.Schema = ReproducerSchema
	if len(r.Output) > maxOutput {
		r.Output = strings.ToValidUTF8(r.Output[:maxOutput], "") + "\n…"
	}
	return w.line(reproducersFile, r)
}

// Attach adds each reproducer to the result of its scenario, in the order of rules and
// kinds, and sets the command that reproduces each cause. A cause is then headed by the scenario
// of that command, if it reproduced the cause. It skips reproducers whose scenario is not in the report.
func (r *Report) Attach(all []Reproducer) {
	type instance struct {
		id   string
		axes Axes
	}
	for i := range r.Causes {
		r.showAgain(&r.Causes[i], all)
	}
	by := map[instance][]Reproducer{}
	for _, p := range all {
		k := instance{p.Scenario, p.Axes}
		by[k] = append(by[k], p)
	}
	for s := range Each(r.Scenarios) {
		s.Reproducers = by[instance{s.ID, s.Axes}]
		slices.SortStableFunc(s.Reproducers, func(a, b Reproducer) int {
			return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Kind, b.Kind))
		})
	}
}

// showAgain gives a cause the text that reproduces it: a successful one, preferably a replay and preferably of its best
// evidence; without one the replay of its best evidence. What was shown again is the best evidence.
func (r *Report) showAgain(c *Cause, all []Reproducer) {
	const evidence, shown, shownByReplay = 1, 2, 4
	best, by := 0, Reproducer{}
	for _, p := range all {
		worth := 0
		switch {
		case p.Rule != c.Rule && p.Rule != "":
			continue
		case p.Shown && p.Kind == ReproduceReplay:
			worth = shownByReplay
		case p.Shown:
			worth = shown
		case p.Kind != ReproduceReplay:
			continue
		}
		if p.Scenario == c.Scenario && p.Axes == c.Axes {
			worth |= evidence
		}
		if worth > best {
			best, by = worth, p
		}
	}
	for _, s := range r.Scenarios {
		switch {
		case by.Text == "" && s.ID == c.Scenario && s.Axes == c.Axes:
			by.Text = s.Replay
		case best >= shown && best&evidence == 0 && s.ID == by.Scenario && s.Axes == by.Axes:
			c.headBy(&s)
		}
	}
	c.Reproducer = cmp.Or(strings.TrimRight(by.Text, "\n"), c.Reproducer)
}

// headBy makes a scenario that broke the rule of a cause its best evidence.
func (c *Cause) headBy(s *ScenarioResult) {
	for _, v := range s.Rules {
		if v.ID == c.Rule {
			c.Scenario, c.Axes, c.Message = s.ID, s.Axes, v.Message
		}
	}
}
