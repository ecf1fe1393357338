package scenarios

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/record/surface"
)

// Call describes the request that a step makes, whatever the kind of step.
type Call struct {
	// Kind is the kind of step ("signal"), the default name of the exchange.
	Kind string
	// As is the name that the script gives the exchange, or "".
	As string
	// Target is the process that the request names, or nil.
	Target *Target
	// Starts is set when the request starts a process, so that `to` may name it.
	Starts bool
	// Ends is set when the request may end the process that it names.
	Ends bool
	// RPC is set when the request calls a procedure, and not an alias or a health check.
	RPC bool
	// OwnProtocol is set when the request names its protocol instead of following the axis.
	OwnProtocol bool
}

// Call returns the request that the step makes; ok is false for a step that makes none.
func (s *Step) Call() (c Call, ok bool) {
	if _, t := s.Socket(); t != nil {
		return Call{}, false
	}
	rpc := func(via string) bool { return via == "" || via == surface.Process }
	switch {
	case s.Send != nil:
		starts := strings.HasSuffix(s.Send.RPC, "/Start") || s.Send.Surface == surface.Commands
		return Call{Kind: "send", As: s.Send.As, Starts: starts, RPC: s.Send.RPC != "", OwnProtocol: s.Send.Protocol != ""}, true
	case s.Start != nil:
		return Call{Kind: "start", As: s.Start.As, Starts: true, RPC: rpc(s.Start.Via)}, true
	case s.Connect != nil:
		return Call{Kind: "connect", As: s.Connect.As, Target: &s.Connect.Target, RPC: true}, true
	case s.Signal != nil:
		return Call{Kind: "signal", As: s.Signal.As, Target: &s.Signal.Target, Ends: true, RPC: rpc(s.Signal.Via)}, true
	case s.Input != nil:
		return Call{Kind: "input", As: s.Input.As, Target: &s.Input.Target, Ends: true, RPC: true}, true
	case s.CloseStdin != nil:
		return Call{Kind: "close-stdin", As: s.CloseStdin.As, Target: s.CloseStdin, Ends: true, RPC: true}, true
	case s.Update != nil:
		return Call{Kind: "update", As: s.Update.As, Target: &s.Update.Target, RPC: true}, true
	case s.List != nil:
		return Call{Kind: "list", As: s.List.As, RPC: rpc(s.List.Via)}, true
	}
	return Call{}, false
}

// Fields lists the names of the header fields that the step sets in its request, not those of every request.
func (s *Step) Fields() []string {
	var headers map[string]*string
	var others []string
	switch {
	case s.Send != nil:
		headers = s.Send.Headers
		if s.Send.ContentLength != nil {
			others = append(others, "Content-Length")
		}
	case s.Start != nil:
		headers = s.Start.Headers
	}
	if s.Send != nil && s.Send.Timeout != nil || s.Start != nil && s.Start.TimeoutMS != nil {
		others = append(others, "Connect-Timeout-Ms", "Grpc-Timeout")
	}
	return slices.AppendSeq(others, maps.Keys(headers))
}

// In returns the exchange with the control plane whose sandbox gets the request of the step, "" for
// the target.
func (s *Step) In() string {
	switch c, _ := s.Call(); {
	case s.Send != nil:
		return s.Send.In
	case s.Start != nil:
		return s.Start.In
	case s.List != nil:
		return s.List.In
	case c.Target != nil:
		return c.Target.In
	}
	return ""
}

// Socket returns the kind and the target of a step that sends a message on a WebSocket;
// the target is nil for any other step.
func (s *Step) Socket() (kind string, t *Target) {
	switch {
	case s.Signal != nil:
		kind, t = "signal", &s.Signal.Target
	case s.Input != nil:
		kind, t = "input", &s.Input.Target
	case s.CloseStdin != nil:
		kind, t = "close-stdin", s.CloseStdin
	case s.Update != nil:
		kind, t = "update", &s.Update.Target
	}
	if t == nil || t.Via != surface.Stdio {
		return "", nil
	}
	return kind, t
}

// EachStep visits every step of the script in order, each before the steps inside it.
func (s *Scenario) EachStep(visit func(*Step)) {
	for i := range s.Steps {
		s.Steps[i].Each(visit)
	}
}

// Each visits the step, then every step inside it.
func (s *Step) Each(visit func(*Step)) {
	visit(s)
	for i := range s.Parallel {
		s.Parallel[i].Each(visit)
	}
	if s.Race != nil {
		s.Race.A.Each(visit)
		s.Race.B.Each(visit)
	}
}

// Raced reports whether the step is inside a race.
func (s *Step) Raced() bool { return strings.Contains(s.At, ".race.") }
