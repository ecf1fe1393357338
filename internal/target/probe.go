package target

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// callsOfAProbe is the number of successive calls of a probe about one process.
const callsOfAProbe = 4

// probe checks some features with a few calls.
type probe struct {
	features []string
	// slow probes wait by design: the embedded gateway runs them only when one of their
	// features is requested by name.
	slow bool
	run  func(ctx context.Context, c *client) findings
}

// findings maps feature ids to their probed state.
type findings map[string]bundle.Feature

// probes lists all probes, which are independent of each other.
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
		{features: []string{featConnectRPC}, run: probeWays(featConnectRPC, call.Connect)},
		{features: []string{featGRPC}, run: probeWays(featGRPC, call.GRPC)},
		{features: []string{featGRPCWeb}, run: probeWays(featGRPCWeb, call.GRPCWeb)},
		{features: []string{featJSON}, run: probeWays(featJSON, call.JSON)},
		{features: []string{featProto}, run: probeWays(featProto, call.Proto)},
		{features: []string{featGzip}, run: probeGzip},
		{features: []string{featGet}, run: probeGet},
		{features: []string{featProbe}, run: probeProbe},
		{features: []string{featCommands}, run: probeCommands},
		{features: []string{featMetrics, featOwnMetrics}, run: probeMetrics},
		{features: []string{featToken}, run: probeToken},
		{features: []string{featHealth}, run: probeHealth},
		{features: []string{featFilesystem}, run: probeFilesystem},
		{features: []string{featWatch}, run: probeWatch},
		{features: []string{featFiles, featSigned}, run: probeFiles},
		{features: []string{featExecute}, run: probeExecute},
		{features: []string{featStdio, featStdioEOF, featStdioPTY, featSession, featShared, featPanes}, run: probeStdio},
		{features: []string{featControl, featControlKey}, run: probeControl},
	}
}

// Probe checks the features named by want, or all. Every probe makes a few calls, all at
// the same time and within one deadline. It ends every process that it starts, or waits a
// few seconds until the process ends by itself. The state is present, absent (the target
// clearly refuses) or unknown, with a detail. Calls use the target's Way, so call Calibrate
// first. From then on Identity says which gateway the target looks like.
//
// process.keepalive takes up to two seconds of silence, in parallel with the others. The
// embedded gateway is assumed to have it unless want names it. An unknown id in want is an
// error; other errors are those of ctx.
func (t *Target) Probe(ctx context.Context, clock *transport.Clock, cal bundle.Calibration, want ...string) (map[string]bundle.Feature, error) {
	known := Features()
	for _, id := range want {
		if !slices.Contains(known, id) {
			return nil, fmt.Errorf("no feature %q: the features are %s", id, strings.Join(known, ", "))
		}
	}
	pace, shell := time.Duration(cal.RTT+cal.Spawn), callsOfAProbe*time.Duration(cal.End)
	limit := t.Scaled(callTimeout) + 20*pace + shell
	c := t.newClient(clock, "probe", limit, t.Scaled(callTimeout)+callsOfAProbe*pace+shell)
	defer c.close()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var mu, alone sync.Mutex
	var all crash.Group
	found := findings{}
	for _, p := range probes() {
		if !p.wanted(want) {
			continue
		}
		all.Go(func() {
			own := c.another()
			got, late := p.attempt(bounded, own, want)
			if try := 0; own.again(ctx, try) || late {
				alone.Lock()
				defer alone.Unlock()
				for again := true; again; try++ {
					own = c.another()
					longer, end := context.WithTimeout(ctx, limit)
					got, late = p.attempt(longer, own, want)
					again = own.again(ctx, try) || late && try < mostAgain
					end()
				}
			}
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
	for id, f := range found {
		f.Detail = t.redactor.Text(f.Detail)
		found[id] = f
	}
	if want != nil {
		maps.DeleteFunc(found, func(id string, _ bundle.Feature) bool { return !slices.Contains(want, id) })
	}
	return found, nil
}

func (p probe) wanted(want []string) bool {
	return want == nil || slices.ContainsFunc(p.features, func(id string) bool { return slices.Contains(want, id) })
}

// attempt is look, and reports whether the time was over because calls waited for their turn.
func (p probe) attempt(ctx context.Context, c *client, want []string) (got findings, late bool) {
	got = p.look(ctx, c, want)
	return got, ctx.Err() != nil && c.queued.Load()
}

// look runs the probe; features without a finding are unknown.
func (p probe) look(ctx context.Context, c *client, want []string) findings {
	got := findings{}
	if p.slow && want == nil && c.target.options.Embedded {
		for _, id := range p.features {
			got[id] = present("the embedded gateway has it; not probed, to save a second")
		}
		return got
	}
	if c.target.IsService() {
		decided, all := p.lookAtService(ctx, c)
		if all {
			return decided
		}
	}
	maps.Copy(got, p.run(ctx, c))
	detail := "the probe had no result"
	if ctx.Err() != nil {
		detail = c.noAnswer()
	}
	for _, id := range p.features {
		if _, ok := got[id]; !ok {
			got[id] = unknown(detail)
		}
	}
	return got
}
