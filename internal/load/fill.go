package load

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/base/machine"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// blank returns a report with the facts known before the run.
func (s *session) blank() *bundle.LoadReport {
	o := &s.opts
	first := &o.classes[0]
	return &bundle.LoadReport{
		Sandboxes: o.Sandboxes.figures(),
		Schema:    bundle.LoadSchema, Tool: bundle.Tool{Name: "assay", Version: s.opts.Version}, Verdict: bundle.LoadInconclusive,
		Target: bundle.LoadTarget{
			URL: s.target.Identity().URL, Embedded: o.Target.Embedded, Profile: o.Profile,
			Protocol: o.distinct(func(i int) string { return o.classes[i].Protocol }),
			Codec:    o.distinct(func(i int) string { return o.classes[i].Codec }), HTTP: o.HTTP,
		},
		Plan: bundle.LoadPlan{
			Model: s.model(), Streams: o.Streams, Rate: o.Rate, Stages: stageInfo(o.Stages), Arrivals: o.arrivals(), RampMS: o.Ramp.Milliseconds(),
			DurationMS: o.Duration.Milliseconds(), WarmupMS: o.Warmup.Milliseconds(), Count: o.Count, Seed: o.Seed, Drawn: o.draws(),
			Command: commandOf(first), Check: checkName(first), Note: o.startNote(),
		},
		Streams:    bundle.LoadStreams{Wanted: int64(s.plan.Wanted())},
		Metrics:    bundle.LoadMetrics{Violations: []string{}},
		Driver:     bundle.LoadDriver{Engine: o.Engine.Name(), Loops: s.needs.loops(s.plan, o.Engine)},
		Thresholds: []bundle.LoadThreshold{}, Examples: []bundle.LoadExample{},
	}
}

// model returns the name of the model: closed or open.
func (s *session) model() string {
	if s.plan.Open() {
		return "open"
	}
	return "closed"
}

// arrivals returns how the starts of a rate are spread; "" in the closed model.
func (o *Options) arrivals() string {
	switch {
	case o.Rate == 0 && len(o.Stages) == 0:
		return ""
	case o.Poisson:
		return "poisson"
	}
	return "even"
}

// draws reports whether the run makes random choices.
func (o *Options) draws() bool {
	return o.Poisson || slices.ContainsFunc(o.classes, func(c scenarios.WorkloadClass) bool { return c.KillShare+c.DisconnectShare > 0 })
}

func stageInfo(all []Stage) (out []bundle.LoadStage) {
	for _, s := range all {
		out = append(out, bundle.LoadStage{DurationMS: s.Duration.Milliseconds(), From: s.From, To: s.To})
	}
	return out
}

// distinct joins the distinct values of the classes.
func (o *Options) distinct(value func(class int) string) string {
	var all []string
	for i := range o.classes {
		if v := value(i); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, "+")
}

// fill sets the counts and measured values of a report.
func (s *session) fill(r *bundle.LoadReport) {
	r.Started = s.base.Round(0).UTC()
	c := s.sink.counts()
	r.Streams.Opened, r.Streams.OpenPeak, r.Streams.Begun, r.Streams.BackedOff = c.Started, c.Peak, c.Begun(), c.BackedOff
	r.Streams.Completed, r.Streams.Outcomes, r.Streams.Disconnected = c.Outcomes.Total(), c.Outcomes, c.HungUp
	r.Streams.Offered = 1
	if r.Streams.Wanted > 0 {
		r.Streams.Offered = min(1, float64(c.Opening)/float64(r.Streams.Wanted))
	}
	for m := range Metric(numMetrics) {
		*latencyAt(&r.Latency, m) = latencyOf(s.sink.hist.total[m])
	}
	r.Output.Events, r.Output.Bytes, r.Output.Clamped, r.Output.Coalesced = c.Events, c.Bytes, c.Clamped, c.Coalesced
	r.Ledger = ledgerOf(&c)
	r.Driver.UnstampedReads = c.Unstamped
	r.Driver.CPUSeconds, r.Driver.RSSPeakBytes = machine.CPUSeconds()-s.cpu, machine.PeakMemory()
	if s.crew != nil {
		cpu, rss := s.crew.Costs()
		r.Driver.CPUSeconds, r.Driver.RSSPeakBytes = r.Driver.CPUSeconds+cpu, r.Driver.RSSPeakBytes+rss
		r.Workers = s.crew.Members()
		r.Driver.Processes = len(r.Workers)
	}
	if len(s.opts.classes) > 1 {
		r.Classes = s.classes(&c)
	}
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	r.Examples, r.Driver.ClockStepsMS = sortExamples(s.sink.examples), nil
	for _, d := range s.sink.steps {
		r.Driver.ClockStepsMS = append(r.Driver.ClockStepsMS, float64(d.Microseconds())/1e3)
	}
}

// classes returns the classes of the plan with their outcomes and latencies.
func (s *session) classes(counts *Counts) (out []bundle.LoadClass) {
	for i := range s.opts.classes {
		c, outcomes := &s.opts.classes[i], counts.Classes[i]
		info := bundle.LoadClass{
			Name: c.Name, Share: c.Share, Protocol: c.Protocol, Codec: c.Codec, Command: commandOf(c), Check: checkName(c),
			Completed: outcomes.Total(), Outcomes: outcomes,
		}
		for m, h := range s.sink.hist.classes[i].total {
			if l := classLatencyAt(&info.Latency, Metric(m)); l != nil { //nolint:gosec // an index of the array
				*l = latencyOf(h)
			}
		}
		out = append(out, info)
	}
	return out
}

// headline describes the run and its needs.
func (s *session) headline() []string {
	url := s.target.Identity().URL
	if s.opts.Target.Embedded {
		url = "the embedded gateway (" + url + ")"
	}
	all := []string{fmt.Sprintf("%s · %s · %s", url, s.opts.wireName(), s.opts.modelName())}
	if note := s.opts.startNote(); note != "" {
		all = append(all, "  "+note)
	}
	for _, line := range append(s.needs.lines(s.machine, s.plan), s.gatewayLimits()...) {
		all = append(all, "  "+line)
	}
	return all
}

// wireName describes protocols, codecs and HTTP version.
func (o *Options) wireName() string {
	return o.distinct(func(i int) string {
		name := o.classes[i].Protocol
		if name != ProtocolNDJSON && name != ProtocolWS {
			name += " " + o.classes[i].Codec
		}
		return name
	}) + " on HTTP " + o.HTTP
}

// startNote says what stands for the start event where a protocol has none; "" when all
// have one.
func (o *Options) startNote() string {
	if slices.ContainsFunc(o.classes, func(c scenarios.WorkloadClass) bool { return c.Protocol == ProtocolWS }) {
		return "over ws the 101 response stands for the start event, and first_event is the first message"
	}
	return ""
}

// modelName describes the model.
func (o *Options) modelName() string {
	text := fmt.Sprintf("%d streams at a time", o.Streams)
	switch {
	case o.Rate > 0:
		text = fmt.Sprintf("%g streams per second", o.Rate)
	case len(o.Stages) > 0:
		text = plural(len(o.Stages), "stage of a rate", "stages of a rate")
	}
	if o.Poisson {
		text += " at random"
	}
	if o.Ramp > 0 {
		text += fmt.Sprintf(", rising over %v", o.Ramp)
	}
	if o.Duration > 0 {
		text += fmt.Sprintf(", for %v", o.Duration)
	}
	if o.Warmup > 0 {
		text += fmt.Sprintf(", the first %v not measured", o.Warmup)
	}
	if o.Count > 0 {
		text += fmt.Sprintf(", %d in all", o.Count)
	}
	return text
}
