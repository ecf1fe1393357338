package load

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
)

// latencyAt returns the distribution of a metric.
func latencyAt(l *bundle.LoadLatencies, m Metric) *bundle.Latency {
	return [numMetrics]*bundle.Latency{
		&l.FirstEvent, &l.Gap, &l.EndOfStream, &l.StartLag, &l.DriverLag, &l.GapCorrected, &l.FromSent,
		&l.Connect, &l.TLSFull, &l.TLSResumed,
	}[m]
}

// classLatencyAt returns the distribution of a metric of a class; nil for a delay of the driver
// and for connections.
func classLatencyAt(l *bundle.LoadClassLatencies, m Metric) *bundle.Latency {
	return [numMetrics]*bundle.Latency{FirstEvent: &l.FirstEvent, Gap: &l.Gap, EndOfStream: &l.EndOfStream, GapCorrected: &l.GapCorrected, FromSent: &l.FromSent}[m]
}

// ratesOf returns the averages per second of a report with a duration.
func ratesOf(r *bundle.LoadReport) bundle.LoadRates {
	if r.DurationMS <= 0 {
		return bundle.LoadRates{}
	}
	schedule := r.DurationMS
	if planned := r.Plan.DurationMS; planned > 0 {
		schedule = min(schedule, planned)
	}
	per := func(n, ms int64) float64 { return math.Round(float64(n)/float64(ms)*1e6) / 1e3 }
	return bundle.LoadRates{
		Begun: per(r.Streams.Begun, schedule), Completed: per(r.Streams.Completed, r.DurationMS), Events: per(r.Output.Events, r.DurationMS),
	}
}

func valuesOf(c ledger.Counters) *bundle.LoadCounters {
	return &bundle.LoadCounters{Started: c.Started, OK: c.OK, Error: c.Error, Killed: c.Killed, Active: c.Active}
}

// ledgerOf returns the ledger of these counts.
func ledgerOf(c *Counts) bundle.LoadLedger {
	l := bundle.LoadLedger{
		OK: c.Fates[EndedOK], Error: c.Fates[EndedError], Killed: c.Fates[FateKilled] + c.Swept,
		Open: c.Fates[LeftOpen], Unseen: c.Fates[EndedUnseen] + c.Fates[EndedHungUp], HungUp: c.Fates[EndedHungUp],
		Uncertain: max(0, c.Uncertain-c.Swept),
	}
	l.Started = l.OK + l.Error + l.Killed + l.Open + l.Unseen
	return l
}

// sortExamples sorts examples by outcome and stream, so that their order does not depend on
// time.
func sortExamples(all []bundle.LoadExample) []bundle.LoadExample {
	order := map[string]int{}
	for o := range (bundle.StreamOutcomes{}).All() {
		order[o.String()] = int(o)
	}
	out := append([]bundle.LoadExample{}, all...)
	slices.SortStableFunc(out, func(a, b bundle.LoadExample) int {
		return cmp.Or(order[a.Outcome]-order[b.Outcome], cmp.Compare(a.Stream, b.Stream))
	})
	return out
}
