package selftest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/fakes/controlplane"
	reference "assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// token is the access token of the gateways that break a rule about tokens. The others have none:
// where one is required, raw bytes of scripts, which carry none, prove nothing.
const token = "of-the-selftest"

// apiKey is the key of the control planes.
const apiKey = "e2b_5e1f7e57"

// featureToken is the feature of a target that requires a token, and featureSigned that of URLs
// that are signed with it.
const (
	featureToken  = "auth.token"
	featureSigned = "files.signed"
)

// secured reports whether one of the faults breaks a rule about tokens.
func secured(faults []string) bool {
	return slices.ContainsFunc(zoo.Faults(), func(f zoo.Fault) bool {
		return slices.Contains(faults, f.ID) && slices.ContainsFunc(f.Breaks, func(rule string) bool {
			return strings.HasPrefix(rule, "auth.") || strings.Contains(rule, ".auth.") || strings.HasPrefix(rule, "files.sign.")
		})
	})
}

// key identifies the subject of a verdict. A verdict of the run has no scenario.
type key struct {
	scenario string
	axes     bundle.Axes
	rule     string
}

// gateway is a gateway of the zoo with its state as a target.
type gateway struct {
	t      *tester
	fake   fake
	target *target.Target
	clock  *transport.Clock
	run    *bundle.Run
	took   map[scenarios.Instance]time.Duration // duration of each instance
	right  bool                                 // it has no fault
}

// fake is a gateway that listens.
type fake interface {
	URL() string
	Close() error
}

// open starts a gateway for so many concurrent scenarios. It takes calibration and features from like or, if like is nil,
// measures and probes them: a fault may falsify both, so a broken gateway is tested with those
// of the reference.
func (t *tester) open(ctx context.Context, fo zoo.Options, like *bundle.Run, jobs int) (g *gateway, err error) {
	fo.Log, fo.Seed, fo.Origins = t.opts.Log, t.opts.Seed, []string{reference.ScenarioOrigin}
	fo.ControlPlane = &controlplane.Options{APIKey: apiKey}
	if secured(fo.Faults) {
		fo.Token = token
	}
	g = &gateway{t: t, right: len(fo.Faults) == 0, clock: transport.NewClock(), took: map[scenarios.Instance]time.Duration{}}
	if g.fake, err = zoo.Start(ctx, fo); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	g.target, err = target.New(target.Options{
		URL: g.fake.URL(), Paths: t.profile.Paths, Shell: t.profile.Shell,
		Token: fo.Token, Control: target.Control{APIKey: apiKey}, UserAgent: "assay/" + t.opts.Version, Embedded: true, TimeScale: t.opts.TimeScale,
	})
	if err != nil {
		return nil, err
	}
	g.run = &bundle.Run{
		Schema: bundle.RunSchema, ID: fmt.Sprintf("selftest-%d", t.opts.Seed), Started: time.Now(),
		Target: g.target.Identity(), Profile: t.profile.ID, Seed: t.opts.Seed, Jobs: jobs,
	}
	if like != nil {
		g.run.Calibration, g.run.Features = like.Calibration, maps.Clone(like.Features)
		if fo.Token != "" {
			for _, feature := range []string{featureToken, featureSigned} {
				g.run.Features[feature] = bundle.Feature{State: bundle.FeaturePresent, Detail: "the gateway was started with a token"}
			}
		}
		return g, nil
	}
	if g.run.Calibration, err = g.target.Calibrate(ctx, g.clock); err != nil {
		return nil, err
	}
	g.run.Features, err = g.target.Probe(ctx, g.clock, g.run.Calibration)
	return g, err
}

func (g *gateway) close() {
	if err := g.fake.Close(); err != nil {
		g.t.opts.Log.Warn("closing a gateway", "error", err)
	}
}

// confirmBudget bounds the second look of a gateway without faults.
const confirmBudget = 10 * time.Second

// exercise runs instances and passes each verdict to see, one call at a time, the verdicts of the
// run last. It stops when see returns true.
func (g *gateway) exercise(ctx context.Context, instances []scenarios.Instance, see func(key, bundle.Verdict) (enough bool)) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	j := &judge.Judge{Rules: g.t.catalogue, Profile: g.t.profile}
	enough := false
	o := engine.Options{
		Target: g.target, Run: g.run, Clock: g.clock, Profile: g.t.profile, // no Log: what a broken gateway does to its processes is no news
		Doubtful: func(i scenarios.Instance, o *bundle.Observation) bool {
			return judge.Doubtful(j.Scenario(i.Scenario, g.run, o))
		},
		OnDone: func(i scenarios.Instance, o *bundle.Observation) {
			g.took[i] = time.Duration(o.Ended.T - o.Started.T)
			for _, v := range j.Scenario(i.Scenario, g.run, o) {
				enough = see(key{i.Scenario.ID, i.Axes, v.Rule}, v) || enough
			}
			if enough {
				stop()
			}
		},
	}
	if g.right { // what did not come is looked for again, as in a run of a user; a fault is seen at the first look
		o.ConfirmBudget = confirmBudget
		o.Suspicions = func(i scenarios.Instance, o *bundle.Observation) []string {
			return judge.Suspicions(j.Scenario(i.Scenario, g.run, o))
		}
	}
	eng := engine.Start(inner, o, instances)
	<-eng.Done()
	eng.Into(g.run)
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, v := range j.Run(g.run, eng.Observations()) {
		see(key{rule: v.Rule}, v)
	}
	return nil
}
