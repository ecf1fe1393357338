package target

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/transport"
)

// callsOfAProbe is how many calls, one after another, a probe makes about one process.
const callsOfAProbe = 4

// probe finds out about some features with a few calls of its own.
type probe struct {
	features []string
	// slow probes wait by design: the embedded gateway is only put through them
	// when one of their features is asked for by name.
	slow bool
	run  func(ctx context.Context, c *client) (findings, error)
}

// findings are features that were looked at, by id.
type findings map[string]bundle.Feature

// probes lists all probes; they do not depend on each other.
func probes() []probe {
	return []probe{
		{features: []string{featStart, featConnect, featList, featInput, featUpdate}, run: probeLife},
		{features: []string{featSignal}, run: probeSignal},
		{features: []string{featCloseStdin}, run: probeCloseStdin},
		{features: []string{featStreamInput}, run: probeStreamInput},
		{features: []string{featTag}, run: probeTag},
		{features: []string{featUser}, run: probeUser},
		{features: []string{featPTY}, run: probePTY},
		{features: []string{featKeepalive}, slow: true, run: probeKeepalive},
		{features: []string{featHTTP1}, run: probeVersion(featHTTP1, transport.HTTP1)},
		{features: []string{featH2C}, run: probeVersion(featH2C, transport.H2C)},
		{features: []string{featH2TLS}, run: probeVersion(featH2TLS, transport.H2TLS)},
		{features: []string{featConnectRPC}, run: probeProtocol(featConnectRPC, protoConnect)},
		{features: []string{featGRPC}, run: probeProtocol(featGRPC, protoGRPC)},
		{features: []string{featGRPCWeb}, run: probeProtocol(featGRPCWeb, protoWeb)},
		{features: []string{featJSON}, run: probeCodec(featJSON, codecJSON)},
		{features: []string{featProto}, run: probeCodec(featProto, codecProto)},
		{features: []string{featGzip}, run: probeGzip},
		{features: []string{featGet}, run: probeGet},
		{features: []string{featProbe}, run: probeProbe},
		{features: []string{featCommands}, run: probeCommands},
		{features: []string{featMetrics, featOwnMetrics}, run: probeMetrics},
		{features: []string{featToken}, run: probeToken},
		{features: []string{featHealth}, run: probeHealth},
		{features: []string{featFilesystem}, run: probeFilesystem},
		{features: []string{featStdio}, run: probeStdio},
		{features: []string{featControl}, run: probeControl},
	}
}

// Probe looks for features: those that want names, or all. Every probe makes
// a few calls, all at the same time and within one deadline; what it starts it ends,
// or it ends by itself a few seconds later, which is waited for. The state is
// present, absent (the target clearly refuses) or unknown, with what was seen.
// Calls go the target's Way, which Calibrate finds: it should have come before.
// What the target looks like is part of its Identity from then on.
//
// process.keepalive takes up to two seconds of silence, beside the others. The
// embedded gateway, which is part of this program, is trusted to have it unless want
// names it. An id in want that is not known is an error; other errors are those of ctx.
func (t *Target) Probe(ctx context.Context, clock *transport.Clock, cal bundle.Calibration, want ...string) (map[string]bundle.Feature, error) {
	known := Features()
	for _, id := range want {
		if !slices.Contains(known, id) {
			return nil, fmt.Errorf("no feature %q: there are %s", id, strings.Join(known, ", "))
		}
	}
	pace, shell := time.Duration(cal.RTT+cal.Spawn), callsOfAProbe*time.Duration(cal.End)
	limit := t.scaled(callTimeout) + 20*pace + shell
	c := t.newClient(clock, "probe", limit, t.scaled(callTimeout)+callsOfAProbe*pace+shell)
	defer c.close()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var mu sync.Mutex
	var all sync.WaitGroup
	found := findings{}
	for _, p := range probes() {
		if !p.wanted(want) {
			continue
		}
		all.Go(func() {
			got := p.look(bounded, c, want)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(found, got)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if looks := c.seen.looks(); looks != "" {
		t.looks.Store(&looks)
	}
	if want != nil {
		maps.DeleteFunc(found, func(id string, _ bundle.Feature) bool { return !slices.Contains(want, id) })
	}
	return found, nil
}

func (p probe) wanted(want []string) bool {
	return want == nil || slices.ContainsFunc(p.features, func(id string) bool { return slices.Contains(want, id) })
}

// look runs the probe; a feature that it says nothing of is unknown.
func (p probe) look(ctx context.Context, c *client, want []string) findings {
	got := findings{}
	if p.slow && want == nil && c.target.options.Embedded {
		for _, id := range p.features {
			got[id] = present("the reference gateway of this program has it; not probed, which would take a second")
		}
		return got
	}
	f, err := p.run(ctx, c)
	detail := "the probe had nothing to look at"
	switch {
	case ctx.Err() != nil:
		detail = c.noAnswer()
	case err != nil:
		detail = err.Error()
	}
	maps.Copy(got, f)
	for _, id := range p.features {
		if _, ok := got[id]; !ok {
			got[id] = unknown(detail)
		}
	}
	return got
}
