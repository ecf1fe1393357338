package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// exposition writes metrics as OpenMetrics text that the parser of Prometheus' older text
// format reads too, as node_exporter's textfile collector does. The two formats differ in
// counters, so a family is a gauge or a summary. GitLab compares values as strings, hence
// times are rounded to two digits, and no label changes from run to run.
type exposition struct {
	b    strings.Builder
	seen map[string]bool // the series so far
}

// metricLabel is a label of a sample.
type metricLabel struct{ name, value string }

// family writes the description of a metric; its samples must follow. A unit is the end of its name.
func (e *exposition) family(name, kind, unit, help string) {
	fmt.Fprintf(&e.b, "# TYPE %s %s\n", name, kind)
	if unit != "" {
		fmt.Fprintf(&e.b, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(&e.b, "# HELP %s %s\n", name, help)
}

// escapeLabel escapes the value of a label.
var escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// sample writes a sample. A series that was written before is left out: two classes of a plan may
// have the same printable name.
func (e *exposition) sample(name, value string, labels ...metricLabel) {
	pairs := make([]string, len(labels))
	for i, l := range labels {
		pairs[i] = fmt.Sprintf(`%s="%s"`, l.name, escapeLabel.Replace(clean(l.value)))
	}
	series := name
	if len(pairs) > 0 {
		series += "{" + strings.Join(pairs, ",") + "}"
	}
	if e.seen[series] {
		return
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[series] = true
	fmt.Fprintf(&e.b, "%s %s\n", series, value)
}

func (e *exposition) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, e.b.String()+"# EOF\n")
	return err
}

// count, duration and truth return values of samples.
func count[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func duration(us int64) string { return strconv.FormatFloat(float64(us)/1e6, 'g', 2, 64) }

func truth(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// OpenMetrics writes the counts of a report as OpenMetrics text, for GitLab's metrics
// reports and node_exporter's textfile collector.
func OpenMetrics(w io.Writer, r *bundle.Report) error {
	var e exposition
	profile := metricLabel{"profile", r.Profile}
	e.family("assay_conformant", "gauge", "", "Whether the target conforms to the profile: 1, or 0 if it does not or that is undecided.")
	e.sample("assay_conformant", truth(r.Verdict == bundle.Conformant), profile)
	e.family("assay_exit_code", "gauge", "", "Exit code of the run.")
	e.sample("assay_exit_code", count(r.Exit), profile)
	e.family("assay_scenarios", "gauge", "", "Scenarios and axes by the worst verdict of their rules.")
	counts := allCounts(r.Counts)
	for _, c := range bundle.Conclusions() {
		e.sample("assay_scenarios", count(counts[c]), profile, metricLabel{"verdict", string(c)})
	}
	e.family("assay_rules", "gauge", "", "Rules by level and by their worst verdict; those that no scenario has are left out.")
	rules := map[[2]string]int{}
	for _, rule := range r.Rules {
		rules[[2]string{rule.Level, string(rule.Verdict)}]++
	}
	for _, level := range []string{"must", "should", "may"} {
		for _, c := range bundle.Conclusions() {
			e.sample("assay_rules", count(rules[[2]string{level, string(c)}]), profile, metricLabel{"level", level}, metricLabel{"verdict", string(c)})
		}
	}
	e.family("assay_causes", "gauge", "", "Broken rules that follow from no other broken rule.")
	e.sample("assay_causes", count(len(r.Causes)), profile)
	e.family("assay_run_duration_seconds", "gauge", "seconds", "Duration of the run.")
	e.sample("assay_run_duration_seconds", duration(r.DurationMS*1000), profile)
	return e.writeTo(w)
}

// loadOpenMetrics writes the counts and the latencies of a load run as OpenMetrics text.
func loadOpenMetrics(w io.Writer, r *bundle.LoadReport) error {
	var e exposition
	e.family("assay_load_passed", "gauge", "", "Whether the run passed: 1, or 0 if it failed or is undecided.")
	e.sample("assay_load_passed", truth(r.Verdict == bundle.LoadPass))
	e.family("assay_load_exit_code", "gauge", "", "Exit code of the run.")
	e.sample("assay_load_exit_code", count(r.Exit()))
	e.family("assay_load_streams", "gauge", "", "Streams that ended, by outcome.")
	for o, n := range r.Streams.Outcomes {
		e.sample("assay_load_streams", count(n), metricLabel{"outcome", bundle.StreamOutcome(o).String()})
	}
	e.family("assay_load_streams_opened", "gauge", "", "Streams with a start event.")
	e.sample("assay_load_streams_opened", count(r.Streams.Opened))
	e.family("assay_load_streams_open_peak", "gauge", "", "Largest number of streams that were open at one time.")
	e.sample("assay_load_streams_open_peak", count(r.Streams.OpenPeak))
	e.family("assay_load_latency_seconds", "summary", "seconds", "Latencies of the run; quantile 1 is the maximum.")
	for _, d := range loadMetrics(r) {
		e.latency(d.name, "", d.total)
		for _, c := range d.classes {
			e.latency(d.name, c.name, c.of)
		}
	}
	e.family("assay_load_thresholds", "gauge", "", "Thresholds, by result.")
	results := map[string]int{}
	for _, th := range r.Thresholds {
		word, _ := thresholdText(th)
		results[word]++
	}
	for _, word := range []string{"met", "missed", "undecided"} {
		e.sample("assay_load_thresholds", count(results[word]), metricLabel{"result", word})
	}
	e.family("assay_load_counter_violations", "gauge", "", "Invariants of the gateway's counters that were violated.")
	e.sample("assay_load_counter_violations", count(len(r.Metrics.Violations)))
	e.family("assay_load_duration_seconds", "gauge", "seconds", "Duration of the run.")
	e.sample("assay_load_duration_seconds", duration(r.DurationMS*1000))
	return e.writeTo(w)
}

// latency writes the quantiles of one distribution; without values it has only its count.
func (e *exposition) latency(metric, class string, l *bundle.Latency) {
	const family = "assay_load_latency_seconds"
	labels := []metricLabel{{"metric", strings.ReplaceAll(metric, " ", "_")}}
	if class != "" {
		labels = append(labels, metricLabel{"class", class})
	}
	if l.Count > 0 {
		for _, q := range []struct {
			name string
			us   int64
		}{{"0.5", l.P50}, {"0.9", l.P90}, {"0.99", l.P99}, {"0.999", l.P999}, {"1", l.Max}} {
			e.sample(family, duration(q.us), append(labels[:len(labels):len(labels)], metricLabel{"quantile", q.name})...)
		}
	}
	e.sample(family+"_count", count(l.Count), labels...)
}
