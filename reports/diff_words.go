package reports

import (
	"fmt"
	"strings"

	"assay/internal/record/bundle"
)

// diffVerdict returns the verdict of a comparison and a sentence that explains the exit code.
func diffVerdict(d *bundle.Diff) (word, sentence string) {
	slower := 0
	for _, l := range d.Latency {
		if l.Regression {
			slower++
		}
	}
	switch {
	case len(d.Regressions) > 0 && slower > 0:
		return "WORSE", fmt.Sprintf("%s got worse, and %s beyond the threshold (exit %d)", plural(len(d.Regressions), "verdict"), latenciesText(slower), d.Exit)
	case len(d.Regressions) > 0:
		return "WORSE", fmt.Sprintf("%s got worse (exit %d)", plural(len(d.Regressions), "verdict"), d.Exit)
	case slower > 0:
		return "WORSE", fmt.Sprintf("%s beyond the threshold (exit %d)", latenciesText(slower), d.Exit)
	case d.Equal && d.Kind == bundle.DiffLoads:
		return "NO DIFFERENCES", fmt.Sprintf("in verdict and thresholds (exit %d)", d.Exit)
	case d.Equal:
		return "NO DIFFERENCES", fmt.Sprintf("in verdicts, responses and features (exit %d)", d.Exit)
	}
	return "DIFFERENT", fmt.Sprintf("nothing got worse (exit %d)", d.Exit)
}

// diffParts returns the figures of a comparison that are not 0.
func diffParts(d *bundle.Diff) []string {
	axes := func(all []bundle.DiffScenario) (n int) {
		for _, s := range all {
			n += len(s.Axes)
		}
		return n
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{
		{len(d.Regressions), "worse"}, {len(d.Fixes), "better"}, {len(d.Changes), "changed"},
		{axes(d.New), "new"}, {axes(d.Vanished), "gone"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	for _, p := range []struct {
		n          int
		noun, word string
	}{
		{len(d.NewRules), "rule", "new"}, {len(d.VanishedRules), "rule", "gone"},
		{len(d.Seen), "response", "changed"}, {len(d.Features), "feature", "changed"},
	} {
		if p.n > 0 {
			parts = append(parts, plural(p.n, p.noun)+" "+p.word)
		}
	}
	if parts == nil {
		parts = []string{"no verdict changed"}
	}
	return parts
}

// latencies returns the comparisons to list one by one, and a summary of the rest:
// repeated scenarios without a significant change are only counted unless all is set.
func latencies(d *bundle.Diff, all bool) (told []bundle.LatencyChange, rest []string) {
	same, few, needed := 0, 0, 0
	for _, l := range d.Latency {
		switch {
		case all || l.Name != bundle.LatencyIteration || l.Result == bundle.LatencySlower || l.Result == bundle.LatencyFaster:
			told = append(told, l)
		case l.Result == bundle.LatencyTooFew:
			few, needed = few+1, max(needed, l.Needed)
		default:
			same++
		}
	}
	if same > 0 {
		rest = append(rest, plural(same, "repeated scenario")+": no significant change")
	}
	if few > 0 {
		rest = append(rest, fmt.Sprintf("%s: too few samples (%d of each needed)", plural(few, "repeated scenario"), needed))
	}
	return told, rest
}

// latencyName names the measured quantity, such as "round trip", "iteration of" a
// scenario, or "gap.p99 of" a class of streams.
func latencyName(l bundle.LatencyChange) string {
	name := strings.ReplaceAll(line(l.Name), "_", " ")
	if l.Of != "" {
		return name + " of " + line(l.Of)
	}
	return name
}

// latencyText returns text such as "1.20 ms → 1.25 ms: no significant change (p 0.31; 120 and 118 samples)".
func latencyText(l bundle.LatencyChange) string {
	if l.Result == bundle.LatencyMissing {
		return "measured in only one run"
	}
	medians := micros(l.A.Median) + " → " + micros(l.B.Median)
	samples := fmt.Sprintf("%d and %d samples", l.A.Samples, l.B.Samples)
	p := fmt.Sprintf("p %.2g", l.P)
	if l.P < 0.0001 {
		p = "p < 0.0001"
	}
	switch l.Result {
	case bundle.LatencyTooFew:
		return fmt.Sprintf("%s: too few samples (%s; %d of each needed)", medians, samples, l.Needed)
	case bundle.LatencySame:
		return fmt.Sprintf("%s: no significant change (%s; %s)", medians, p, samples)
	}
	text := fmt.Sprintf("%s: %+.1f %%, %s (%s; %s)", medians, l.Change*100, line(l.Result), p, samples)
	if l.Regression {
		text += ", beyond the threshold"
	}
	return text
}

func micros(us float64) string { return span(int64(us * 1000)) }

func latenciesText(n int) string {
	if n == 1 {
		return "1 latency grew"
	}
	return fmt.Sprintf("%d latencies grew", n)
}
