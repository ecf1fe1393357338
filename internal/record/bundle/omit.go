package bundle

import (
	"fmt"
	"strings"
)

// DefaultLimit is the default maximum size of a bundle, in bytes.
const DefaultLimit = 100 << 20

// The bounds of Writer.Limit. A larger bundle could not be read back; a smaller one has no
// room for the verdicts of the whole catalogue.
const (
	MinLimit = 1 << 20
	MaxLimit = maxObservations
)

// The shares of the limit, in quarters, for observations. Passing ones leave room for
// failures, which somebody will read; the rest is for verdicts, result and scripts, which
// are never dropped.
const (
	passedShare   = 2
	evidenceShare = 3
)

// share returns the share of the limit for an observation with this worst verdict.
func share(worst Conclusion) int64 {
	switch worst {
	case Pass, Unsupported, NotRun:
		return passedShare
	default:
		return evidenceShare
	}
}

// Omission marks an observation reduced to its identity. The verdicts were reached with
// the full observation; judged again, it is inconclusive.
type Omission struct {
	// Bytes is the length of the full observation.
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// OmittedObservation names an observation that was not kept.
type OmittedObservation struct {
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
	Bytes    int64  `json:"bytes"`
}

// without returns the observation reduced to its identity.
func (o *Observation) without(n int64, reason string) *Observation {
	return &Observation{
		Schema: o.Schema, Run: o.Run, Scenario: o.Scenario, Axes: o.Axes, Script: o.Script, Seed: o.Seed,
		Started: o.Started, Ended: o.Ended, Lag: o.Lag, Interrupted: o.Interrupted, CutByBudget: o.CutByBudget, Defect: o.Defect,
		Omitted: &Omission{Bytes: n, Reason: reason},
	}
}

// Megabytes formats a size: "100 MB", "1.5 MB", "12 kB". Sizes in options use the same units.
func Megabytes(n int64) string {
	switch {
	case n >= 10<<20 || n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d kB", (n+1023)>>10)
}

// Note describes the omitted observations of a bundle; "" for none.
func Note(omitted []OmittedObservation, limit int64) string {
	if len(omitted) == 0 {
		return ""
	}
	var bytes int64
	var names []string
	for i, o := range omitted {
		bytes += o.Bytes
		if i < 3 {
			names = append(names, o.Scenario+" ["+o.Axes.String()+"]")
		}
	}
	if more := len(omitted) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	what, they := "observation", "it is"
	if len(omitted) > 1 {
		what, they = "observations", "they are"
	}
	return fmt.Sprintf("not kept as evidence, to stay within %s: %d %s of %s (%s); judged again %s inconclusive",
		Megabytes(limit), len(omitted), what, Megabytes(bytes), strings.Join(names, ", "), they)
}
