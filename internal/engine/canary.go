package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/scenarios"
)

// A probe without a response leaves open whether the target has a feature. Of all
// instances that need it, one runs first: the canary of the feature. If the canary's
// requests get no response, the others do not run: each would only wait for its
// deadline.

// appointCanaries finds, for each needed and unknown feature, the instance that tries
// it first: the cheapest, preferably a shared one that needs no other unknown feature
// and makes calls instead of writing raw bytes.
func (e *Engine) appointCanaries(slots []*slot) {
	e.canaries = make(map[string]*slot)
	for _, s := range slots {
		for _, id := range needed(s.run, e.env.http2()) {
			if e.o.Run.Features[id].State == bundle.FeatureUnknown {
				s.unknown = append(s.unknown, id)
			}
		}
	}
	for _, s := range slots {
		for _, id := range s.unknown {
			if c := e.canaries[id]; c == nil || e.compareCanaries(s, c) < 0 {
				e.canaries[id] = s
			}
		}
	}
	for _, s := range e.canaries {
		s.canary = true
	}
}

func (e *Engine) compareCanaries(a, b *slot) int {
	rank := func(s *slot) []int64 {
		sc, cal := s.instance.Scenario, e.o.Run.Calibration
		kind := int64(0)
		switch {
		case sc.Destructive:
			kind = 3 + int64(e.deviates(sc))
		case sc.Exclusive:
			kind = 2
		case !sc.Slow.IsZero():
			kind = 1
		}
		raw := int64(0)
		sc.EachStep(func(st *scenarios.Step) {
			if st.Open != nil {
				raw = 1
			}
		})
		return []int64{kind, int64(len(s.unknown)), raw, int64(sc.Deadline.Resolve(cal)), int64(estimate(sc, cal))}
	}
	return slices.Compare(rank(a), rank(b))
}

// tryFirst moves canaries to the front, and the slots that wait for one to the end.
func tryFirst(slots []*slot) {
	turn := func(s *slot) int {
		switch {
		case s.canary:
			return 0
		case len(s.unknown) == 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(slots, func(a, b *slot) int { return cmp.Compare(turn(a), turn(b)) })
}

// unanswered says why a slot does not run: the canary of a feature that it needs got no
// response. It waits for the canary, which has already begun.
func (e *Engine) unanswered(ctx context.Context, s *slot) *bundle.Skip {
	if s.canary {
		return nil
	}
	for _, id := range s.unknown {
		c := e.canaries[id]
		select {
		case <-c.seen:
		case <-ctx.Done():
			return nil
		}
		if slices.Contains(c.silent, id) {
			return &bundle.Skip{
				Reason: bundle.SkipUnanswered,
				Detail: fmt.Sprintf("the probe for %s gave no answer, and neither did %s", id, c.instance.Scenario.ID),
			}
		}
	}
	return nil
}

// answered reports whether the target responded to any call that uses a feature. A
// feature without such a call counts as answered: nothing speaks against it.
func answered(feature string, o *bundle.Observation) bool {
	asked := false
	for i := range o.Iterations {
		it := &o.Iterations[i]
		for j := range it.Exchanges {
			x := &it.Exchanges[j]
			if x.Op == opCleanup || x.Op == opProbe || !concerns(feature, it, x) {
				continue
			}
			asked = true
			if x.Response != nil || reacted(it, x) {
				return true
			}
		}
	}
	if strings.HasPrefix(feature, "metrics.") {
		for i := range o.Scrapes {
			asked = true
			if o.Scrapes[i].Status != 0 {
				return true
			}
		}
	}
	return !asked
}

// The procedure of each feature about one, and the surface of each other.
var (
	featureRPC = map[string]string{
		"process.start": call.ProcessStart, "process.pty": call.ProcessStart, "process.tag": call.ProcessStart, "process.user": call.ProcessStart,
		"process.keepalive": call.ProcessStart, "process.connect": call.ProcessConnect, "process.list": call.ProcessList, "process.signal": call.ProcessSendSignal,
		"process.input": call.ProcessSendInput, "process.close-stdin": call.ProcessCloseStdin, "process.update": call.ProcessUpdate,
		"process.stream-input": call.ProcessStreamInput,
	}
	featureSurface = map[string]string{
		"ndjson.commands": surfaceCommands, "metrics.prometheus": surfaceMetrics, "metrics.process": surfaceMetrics,
		"health": "health",
	}
)

// concerns reports whether an exchange uses a feature: by its connection's version of
// HTTP, its protocol, codec, procedure or surface. Every exchange uses any other
// feature.
func concerns(feature string, it *bundle.Iteration, x *bundle.Exchange) bool {
	kind, value, _ := strings.Cut(feature, ".")
	switch kind {
	case "http":
		c := connOf(it, x)
		return c != nil && scenarios.AxisFeature(c.HTTP) == feature
	case "protocol":
		return x.Protocol == value
	case "codec":
		return x.RPC != "" && x.Codec == value
	}
	if rpc := featureRPC[feature]; rpc != "" {
		return x.RPC == rpc
	}
	surface := featureSurface[feature]
	return surface == "" || x.Surface == surface
}

// reacted reports whether the peer of an HTTP/2 connection reacted to what was sent.
// Its SETTINGS do not count: they come unprompted.
func reacted(it *bundle.Iteration, x *bundle.Exchange) bool {
	c := connOf(it, x)
	return c != nil && slices.ContainsFunc(c.H2, func(f bundle.H2Frame) bool {
		return f.Dir == "received" && slices.Contains([]string{"HEADERS", "RST_STREAM", "GOAWAY"}, f.Type)
	})
}

// connOf returns the connection of an exchange, or nil.
func connOf(it *bundle.Iteration, x *bundle.Exchange) *bundle.Conn {
	for i := range it.Conns {
		if it.Conns[i].ID == x.Conn {
			return &it.Conns[i]
		}
	}
	return nil
}
