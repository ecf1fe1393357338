package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"assay/scenarios"
)

// resolvePlan reads the plan's file into the options. Without a file it makes one class
// from the options.
func (o *Options) resolvePlan() error {
	if o.Plan == "" && len(o.Classes) > 0 {
		o.classes = o.Classes
		return nil
	}
	if o.Plan == "" {
		return o.oneClass()
	}
	if o.Protocol != "" || o.Codec != "" || o.Command != "" || o.Expect != "" || o.KillShare > 0 || o.DisconnectShare > 0 {
		return errors.New("the classes of the plan set protocol, codec, command, expect, kill share and disconnect share: change them there")
	}
	w, err := scenarios.ReadWorkload(o.Plan)
	if err != nil {
		return err
	}
	o.classes = w.Classes
	if o.Streams == 0 && o.Rate == 0 {
		o.Streams, o.Rate, o.Stages = w.Streams, w.Rate, stagesOf(w)
		o.Poisson = o.Poisson || w.Arrivals == "poisson"
	}
	o.conditions = slices.Clone(w.Thresholds)
	o.HTTP = cmp.Or(o.HTTP, w.HTTP)
	o.Seed = cmp.Or(o.Seed, w.Seed)
	o.Ramp = cmp.Or(o.Ramp, w.Ramp)
	if w.AtOnce {
		o.Ramp = cmp.Or(o.Ramp, AtOnce)
	}
	o.Duration = cmp.Or(o.Duration, w.Duration)
	o.Count = cmp.Or(o.Count, w.Count)
	o.Warmup = cmp.Or(o.Warmup, w.Warmup)
	return nil
}

func stagesOf(w *scenarios.Workload) []Stage {
	var all []Stage
	for _, s := range w.Stages {
		one := Stage{Duration: s.Duration, From: s.From, To: s.To}
		if s.Rate != nil {
			one.From, one.To = *s.Rate, *s.Rate
		}
		all = append(all, one)
	}
	return all
}

// oneClass makes the class of a run without a plan's file.
func (o *Options) oneClass() error {
	if o.Expect != "" && o.Command == "" {
		return errors.New("expect is for a command of your own: the default commands number their lines, and every line is checked")
	}
	for _, s := range []struct {
		name  string
		share float64
	}{{"kill share", o.KillShare}, {"disconnect share", o.DisconnectShare}} {
		if !(s.share >= 0 && s.share <= 1) {
			return fmt.Errorf("%s %g: want a number from 0 to 1, for example 0.1", s.name, s.share)
		}
	}
	if o.KillShare+o.DisconnectShare > 1 {
		return errors.New("kill share and disconnect share are more than 1 together")
	}
	c := scenarios.WorkloadClass{
		Name: "all", Share: 1, Protocol: o.Protocol, Codec: o.Codec, Command: o.Command, Expect: o.Expect,
		KillShare: o.KillShare, DisconnectShare: o.DisconnectShare,
	}
	if o.Command == "" && o.Count > 0 {
		c.Lines = seqLines
	}
	o.classes = []scenarios.WorkloadClass{c}
	return nil
}
