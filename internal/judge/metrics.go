package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
	"assay/scenarios"
)

// metricNames returns the names of the counters under the profile.
func (j *Judge) metricNames() ledger.Names {
	n := ledger.Names{
		Started:  "coppice_commands_started_total",
		Finished: "coppice_commands_finished_total",
		Active:   "coppice_commands_active",
	}
	if j.Profile == nil {
		return n
	}
	for key, to := range map[string]*string{"started": &n.Started, "finished": &n.Finished, "active": &n.Active} {
		if name := j.Profile.Metrics[key]; name != "" {
			*to = name
		}
	}
	return n
}

// metricsCheck is one `metrics` clause with the counters before and after a scenario.
type metricsCheck struct {
	want      map[string]string
	o         *bundle.Observation
	exclusive bool // the scenario runs alone
	before    ledger.Counters
	after     ledger.Counters
	diff      ledger.Counters
	own       ledger.Ledger
	uncertain int // starts whose response does not show whether a process started
	// names are the names of the series in the exposition.
	names ledger.Names
}

// metrics judges the differences of the counters around a scenario.
func (j *Judge) metrics(want map[string]string, s *scenarios.Scenario, o *bundle.Observation) *tally {
	t := &tally{}
	if o.Interrupted {
		return t
	}
	before, fb := j.readScrape(o, "before", false)
	after, fa := j.readScrape(o, "after", true)
	if f := worst(fb, fa); !f.ok() {
		t.add(f)
		return t
	}
	c := &metricsCheck{
		want: want, o: o, exclusive: s.Exclusive, before: before, after: after, diff: ledger.Diff(before, after),
		own: ledger.Of(o), uncertain: ledger.Uncertain(o), names: j.metricNames(),
	}
	f := c.judge()
	if x := uncounted(want, s, o); f.grade == violated && x != nil {
		f = finding{grade: inconclusive, symptom: bundle.SymptomNoStart, message: fmt.Sprintf("not judged: %s did not start: %s", x.Name, answer(x)), at: nowhere()}
	}
	t.add(f)
	return t
}

// uncounted returns a refused start that a wanted difference counts, or nil. It ignores starts
// that are the subject of a clause, which judges the refusal.
func uncounted(want map[string]string, s *scenarios.Scenario, o *bundle.Observation) *bundle.Exchange {
	counts := false
	for _, diff := range want {
		counts = counts || diff != "+0"
	}
	subjects := s.Subjects()
	for _, x := range o.Exchanges() {
		refused := x.Op == bundle.OpStart && isError(x) && !slices.ContainsFunc(x.Events, isStart)
		if _, named := subjects[x.Name]; counts && refused && !named {
			return x
		}
	}
	return nil
}

// readScrape reads the counters of the first or last scrape of that name.
func (j *Judge) readScrape(o *bundle.Observation, name string, last bool) (ledger.Counters, finding) {
	fails := func(g grade, format string, args ...any) (ledger.Counters, finding) {
		return ledger.Counters{}, finding{grade: g, symptom: bundle.SymptomCounters, message: "metrics: " + fmt.Sprintf(format, args...), at: nowhere()}
	}
	var s *bundle.Scrape
	for i := range o.Scrapes {
		if o.Scrapes[i].Name == name && (s == nil || last) {
			s = &o.Scrapes[i]
		}
	}
	switch {
	case s == nil:
		return fails(inconclusive, "there is no scrape %q", name)
	case s.Err != "":
		return fails(inconclusive, "the scrape %q failed: %s", name, phrase.Clip(s.Err))
	case s.Status != 200:
		return fails(violated, "the scrape %q was answered with HTTP %d", name, s.Status)
	}
	c, problems := ledger.ReadCounters(s.Body, j.metricNames())
	if len(c.Has) == 0 {
		why := "it has none of the profile's series"
		if len(problems) > 0 {
			why += "; " + phrase.Clip(problems[0])
		}
		if len(problems) == 0 && !j.requires("metrics.prometheus") {
			return fails(unsupported, "the scrape %q has no counters of commands: %s", name, why)
		}
		return fails(violated, "the scrape %q is not usable: %s", name, why)
	}
	return c, finding{}
}

func (c *metricsCheck) judge() finding {
	keys := slices.Sorted(maps.Keys(c.want))
	var misses []string
	for _, key := range keys {
		want, ok := c.number(c.want[key])
		got, known := c.diff.Get(key)
		if !ok || !known {
			return finding{grade: toolError, at: nowhere(), message: fmt.Sprintf("metrics: the script wants %s of %q, which is not understood", phrase.QuoteString(c.want[key]), key)}
		}
		switch {
		case c.missing(key):
			misses = append(misses, fmt.Sprintf("%s: the series %s is absent", key, c.series(key)))
		case got != want:
			misses = append(misses, c.miss(key, want, got))
		}
	}
	partition := ledger.Partition(c.diff, c.uncertain)
	if partition != "" && len(misses) == 0 && c.asksPartition() {
		misses = append(misses, "the differences do not add up: "+partition)
	}
	if len(misses) == 0 {
		return finding{seen: c.moved(keys)}
	}
	if why := c.foreign(partition == ""); why != "" {
		return finding{grade: inconclusive, at: nowhere(), message: "metrics: " + why + " (" + strings.Join(misses, "; ") + ")"}
	}
	return finding{grade: violated, symptom: bundle.SymptomCounters, at: nowhere(), message: "metrics: " + strings.Join(misses, "; ") + "; " + c.driver()}
}

func (c *metricsCheck) miss(key string, want, got float64) string {
	b, _ := c.before.Get(key)
	a, _ := c.after.Get(key)
	return fmt.Sprintf("%s: want %s, saw %s (%s → %s)", key, signed(want), signed(got), ledger.Number(b), ledger.Number(a))
}

// moved lists the changes of the counters, the evidence of a pass. The absolute values depend on
// earlier scenarios.
func (c *metricsCheck) moved(keys []string) string {
	parts := make([]string, 0, len(keys))
	for _, key := range keys {
		b, _ := c.before.Get(key)
		a, _ := c.after.Get(key)
		parts = append(parts, fmt.Sprintf("%s %s", key, signed(a-b)))
	}
	return strings.Join(parts, ", ")
}

// asksPartition reports whether the clause has enough counters for a partition: started and at
// least one other.
func (c *metricsCheck) asksPartition() bool {
	_, started := c.want[ledger.KeyStarted]
	return started && len(c.want) > 1
}

// missing reports whether a required series is absent. Totals are always required, a labelled
// series only if the wanted difference is not zero.
func (c *metricsCheck) missing(key string) bool {
	if c.after.Seen(key) {
		return false
	}
	want, _ := c.number(c.want[key])
	return key == ledger.KeyStarted || key == ledger.KeyActive || want != 0
}

func (c *metricsCheck) series(key string) string {
	switch key {
	case ledger.KeyStarted:
		return c.names.Started
	case ledger.KeyActive:
		return c.names.Active
	case ledger.KeyFinished:
		return c.names.Finished
	}
	return fmt.Sprintf("%s{status=%q}", c.names.Finished, key)
}

// number reads "+200", "-1", "0", "+n" (one per iteration) and "+2n".
func (c *metricsCheck) number(text string) (float64, bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	if factor, ok := strings.CutSuffix(text, "n"); ok {
		switch factor {
		case "":
			factor = "1"
		case "-":
			factor = "-1"
		}
		k, err := strconv.Atoi(factor)
		return float64(k) * float64(len(c.o.Iterations)), err == nil
	}
	k, err := strconv.Atoi(text)
	return float64(k), err == nil
}

// foreign describes use of the target by others, "" for none: the target started more than this
// driver did, and its counters are consistent, or other scenarios ran at the same time.
func (c *metricsCheck) foreign(clean bool) string {
	extra := c.diff.Started - float64(c.own.Started+c.uncertain)
	switch {
	case !clean || !c.after.Seen(ledger.KeyStarted):
		return ""
	case extra > 0:
		return fmt.Sprintf("foreign traffic: started moved by %s, this driver started %d", ledger.Number(c.diff.Started), c.own.Started)
	case !c.exclusive && len(c.o.Beside) > 0:
		return "other scenarios ran at the same time: " + strings.Join(c.o.Beside[:min(len(c.o.Beside), 3)], ", ")
	}
	return ""
}

// driver describes the driver's own counts, for comparison.
func (c *metricsCheck) driver() string {
	text := fmt.Sprintf("the driver started %d: ok %d, error %d, killed %d, open %d",
		c.own.Started, c.own.OK, c.own.Error, c.own.Killed, c.own.Open)
	if c.uncertain > 0 {
		text += fmt.Sprintf(", %d unknown", c.uncertain)
	}
	return text
}

func signed(v float64) string {
	if v < 0 {
		return ledger.Number(v)
	}
	return "+" + ledger.Number(v)
}

// requires reports whether the profile requires a feature; without a profile every feature is.
func (j *Judge) requires(feature string) bool {
	return j.Profile == nil || slices.Contains(j.Profile.Require, feature)
}
