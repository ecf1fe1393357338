package transport

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

const (
	grpcType    = "application/grpc"
	grpcWebType = "application/grpc-web"
)

// The places of a gRPC status.
const (
	inTrailers = "trailers"
	inHeaders  = "headers"
	inTrailer  = "frame"
)

func (x *Exchange) speaksConnect() bool {
	return x.rec.Protocol == "" || x.rec.Protocol == wire.Connect.String()
}

// isGRPC reports whether a content type, without parameters, belongs to the protocol.
func isGRPC(p wire.Protocol, kind string) bool {
	base := grpcType
	if p == wire.GRPCWeb {
		base = grpcWebType
	}
	return kind == base || strings.HasPrefix(kind, base+"+")
}

// grpcAnswer decodes a response of gRPC or gRPC-Web: messages, then a status. The
// message of a unary RPC becomes the exchange's body.
type grpcAnswer struct {
	messages
	unary    bool
	headers  []wire.Field // hold the status of a trailers-only response
	count    int          // of messages
	trailers []wire.Field // of gRPC-Web's last frame
	ended    bool         // that frame has arrived
	at       int64        // the offset of that frame in the body
}

func newGRPCAnswer(x *Exchange, p wire.Protocol, kind string, r *bundle.Response) *grpcAnswer {
	_, codec, _ := strings.Cut(kind, "+")
	if codec == "" {
		codec = call.Proto // the default of both protocols
	}
	a := &grpcAnswer{
		messages: newMessages(x, p, codecOf(codec, x.rec.Codec), "grpc-encoding", first(r.Get("grpc-encoding"))),
		unary:    x.rec.Shape == bundle.ShapeUnary,
		headers:  wireFields(r.Headers),
	}
	a.events = a.events && !a.unary
	a.dec.OnFrame = a.frame
	a.limit()
	if a.unary {
		x.body = newStore(dataLimit, x.recorder.redact, x.keep)
	}
	return a
}

func wireFields(hs []bundle.Header) []wire.Field {
	fs := make([]wire.Field, len(hs))
	for i, h := range hs {
		fs[i] = wire.Field(h)
	}
	return fs
}

// frame records one envelope and its content.
func (a *grpcAnswer) frame(f wire.Frame) {
	rec, payload, ok := a.open(f)
	isTrailer := a.protocol == wire.GRPCWeb && f.Flags&wire.FlagTrailer != 0
	if isTrailer {
		a.ended, a.at = true, f.Off
	} else {
		a.count++
	}
	switch {
	case !ok:
	case isTrailer:
		a.x.addFrame(rec, payload, true)
		fields, violations := wire.DecodeWebTrailers(payload)
		a.trailers = fields
		for _, v := range violations {
			v.Off = a.place(f, f.Off+wire.HeaderSize, v.Off)
			a.x.violate(inFrame, v)
		}
		a.status(inTrailer, fields)
	default:
		if a.unary {
			a.x.body.add(payload, rec.At)
		}
		a.message(f, payload, rec)
	}
}

// status reads the status, and reports whether there is one.
func (a *grpcAnswer) status(in string, fields []wire.Field) bool {
	return a.x.readStatus(in, a.at, fields)
}

// close reads the status of a complete response.
func (a *grpcAnswer) close() {
	a.dec.Close()
	x := a.x
	switch {
	case a.protocol == wire.GRPCWeb:
		a.closeWeb()
	case a.x.readStatus(inTrailers, x.trailersOff, x.trailers):
		if hasStatus(a.headers) {
			x.violate(inHTTP, wire.Violation{Kind: wire.GRPCStatusRepeated, Off: x.trailersOff,
				Detail: "grpc-status is both in the headers and in the trailers"})
		}
	case !x.readStatus(inHeaders, x.trailersOff, a.headers):
		a.missing(wire.GRPCStatusMissing, "the answer is complete and has no grpc-status")
	case x.rec.Response.Body > 0:
		a.missing(wire.GRPCStatusMissing, "the answer has a body, and its grpc-status is in the headers, not in the trailers")
	}
	a.checkCount()
	x.checkNames()
}

func (a *grpcAnswer) closeWeb() {
	x := a.x
	if hasStatus(x.trailers) {
		x.violate(inHTTP, wire.Violation{Kind: wire.WebHTTPTrailers, Off: x.trailersOff, Detail: "grpc-status is in HTTP trailers"})
	}
	switch {
	case a.ended && x.rec.GRPC != nil:
		if hasStatus(a.headers) {
			x.violate(inHTTP, wire.Violation{Kind: wire.GRPCStatusRepeated, Detail: "grpc-status is both in the headers and in the trailer frame"})
		}
	case a.ended:
		a.missing(wire.GRPCStatusMissing, "the trailer frame has no grpc-status")
	case x.readStatus(inHeaders, 0, a.headers):
		if x.rec.Response.Body > 0 {
			a.missing(wire.WebTrailersMissing, "the answer has a body, and its grpc-status is in the headers, not in a trailer frame")
		}
	default:
		a.missing(wire.WebTrailersMissing, "the answer is complete and has neither a trailer frame nor grpc-status in its headers")
	}
}

// missing reports an omission, at the end of the body.
func (a *grpcAnswer) missing(k wire.Kind, detail string) {
	a.x.violate(inBody, wire.Violation{Kind: k, Off: a.x.rec.Response.Body, Detail: detail})
}

// checkCount checks the number of messages of a unary RPC.
func (a *grpcAnswer) checkCount() {
	if !a.unary || a.x.rec.RPC == "" || a.x.rec.GRPC == nil {
		return
	}
	if a.count > 1 || a.count == 0 && a.x.rec.GRPC.Code == 0 {
		a.missing(wire.GRPCMessageCount, fmt.Sprintf("%d messages in the answer of a unary RPC with status %d", a.count, a.x.rec.GRPC.Code))
	}
}

func hasStatus(fields []wire.Field) bool {
	return slices.ContainsFunc(fields, func(f wire.Field) bool { return strings.EqualFold(f.Name, "grpc-status") })
}

// readStatus records the status in fields, and its error. off is the offset of the
// fields. It reports whether there is a status.
func (x *Exchange) readStatus(in string, off int64, fields []wire.Field) bool {
	s, ok, violations := wire.DecodeGRPCStatus(fields)
	where := inHTTP
	if in == inTrailer {
		where = inFrame
	}
	for _, v := range violations {
		v.Off = off
		x.violate(where, v)
	}
	if !ok {
		return false
	}
	redact := x.recorder.redact
	status := &bundle.GRPCStatus{Code: s.Code, Message: redact.Text(s.Message), Details: redact.Bytes(s.Details), In: in}
	if in != inHeaders {
		for _, f := range s.Metadata {
			status.Metadata = append(status.Metadata, bundle.Header(f))
		}
		status.Metadata = redact.headers(status.Metadata)
	}
	x.rec.GRPC = status
	if s.Code != 0 {
		e := &wire.Error{Code: fmt.Sprintf("code %d", s.Code), Message: s.Message, Details: s.Entries}
		if c, known := wire.CodeByNumber(s.Code); known {
			e.Code = c.Name
		}
		x.rec.Error = x.rpcError(e)
	}
	return true
}

// strayStatus reads the status of a response whose type does not belong to the protocol:
// a proxy may send one.
func (x *Exchange) strayStatus() {
	if x.rec.Shape == bundle.ShapePlain {
		return
	}
	if !hasStatus(x.trailers) || !x.readStatus(inTrailers, x.trailersOff, x.trailers) {
		if fields := wireFields(x.rec.Response.Headers); hasStatus(fields) {
			x.readStatus(inHeaders, 0, fields)
		}
	}
}

// checkNames reports unknown names with grpc-, which the specification reserves.
func (x *Exchange) checkNames() {
	for _, fields := range [][]wire.Field{wireFields(x.rec.Response.Headers), x.trailers} {
		for _, f := range fields {
			if !wire.ReservedGRPCName(f.Name) {
				continue
			}
			x.violate(inHTTP, wire.Violation{Kind: wire.GRPCUnknownHeader, Detail: fmt.Sprintf("the field %.64q is not defined by the specification", x.recorder.redact.Text(f.Name))})
		}
	}
}
