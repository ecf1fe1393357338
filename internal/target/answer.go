package target

import (
	"fmt"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// succeeded reports whether a call succeeded.
func succeeded(s bundle.Exchange) bool {
	if s.Outcome != bundle.OutcomeComplete || s.Error != nil || s.Response.Status != 200 {
		return false
	}
	switch {
	case s.Protocol == call.GRPC || s.Protocol == call.GRPCWeb:
		return s.GRPC != nil
	case s.RPC != "" && s.Shape == bundle.ShapeStream:
		return s.EndStream != nil
	}
	return true
}

// refused reports whether the target clearly lacks the requested thing: an error
// unimplemented, or 404, 405, 415, 501 without another RPC error.
func refused(s bundle.Exchange) bool {
	if s.Error != nil && s.Error.Code != "" {
		return s.Error.Code == "unimplemented"
	}
	if s.Response == nil {
		return false
	}
	switch s.Response.Status {
	case 404, 405, 415, 501:
		return true
	}
	return false
}

// handled reports whether the method exists, whatever its response.
func handled(s bundle.Exchange) bool {
	return succeeded(s) || s.Error != nil && s.Error.Code != "" && !mayMeanRoute(s)
}

// hasType reports whether a response has the content type of the requested codec: a
// client of that codec cannot read any other.
func (c *client) hasType(s bundle.Exchange) bool {
	if s.Response == nil {
		return false
	}
	return call.Form{Protocol: s.Protocol, Codec: c.way.Codec}.Accepts(s.RPC, contentType(s))
}

// carriedOut reports whether a List or a Start succeeded with a readable response: a list
// of processes, or a start event. A start event needs no right content type.
func (c *client) carriedOut(x *transport.Exchange) bool {
	s := x.Snapshot()
	if s.RPC == call.ProcessStart {
		return c.hasType(s) && startedPID(s) != 0 || startsUndeclared(c.way.Codec, x.BodyBytes())
	}
	return c.hasType(s) && succeeded(s) && call.Decode(c.way.Codec, x.BodyBytes(), new(process.ListResponse)) == nil
}

// describe summarises the outcome of a call.
func describe(s bundle.Exchange) string {
	switch {
	case s.Error != nil && s.Error.Code != "":
		return fmt.Sprintf("error %s: %.100s", s.Error.Code, s.Error.Message)
	case s.Response == nil && strings.HasPrefix(s.Detail, noAnswerWithin):
		return s.Detail
	case s.Response == nil:
		return strings.TrimSpace(string(s.Outcome) + " " + s.Detail)
	}
	text := fmt.Sprintf("%d %s", s.Response.Status, contentType(s))
	if s.Outcome != bundle.OutcomeComplete && s.Outcome != "" {
		text += ", " + string(s.Outcome)
	}
	return strings.TrimSpace(text)
}
