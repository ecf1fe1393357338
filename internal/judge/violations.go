package judge

import (
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// violation is the standing check for one kind of violation from the decoders.
func (e *exam) violation(kind string) finding {
	if !e.decoded(kind) {
		return notApplied
	}
	for v := range bundle.Each(e.x.Violations) {
		if v.Kind == kind && !e.excused(v) {
			return e.fails(v.Off, "%s", violationText(v)).as(violationSymptom(e.x, kind))
		}
	}
	return finding{}
}

// violationSymptom returns the symptom of a violation. In a response cut by the connection every
// violation counts as a cut.
func violationSymptom(x *bundle.Exchange, kind string) bundle.Symptom {
	switch {
	case x.Outcome == bundle.OutcomeClosed || x.Outcome == bundle.OutcomeReset:
		return bundle.SymptomCut
	case strings.HasPrefix(kind, "error."):
		return bundle.SymptomErrorForm
	}
	return bundle.SymptomViolation
}

func violationText(v *bundle.Violation) string {
	where := "body"
	if v.In == "http" {
		where = "connection"
	}
	text := phrase.Clip(v.Detail)
	if text == "" {
		text = v.Kind
	}
	return text + " (" + v.Kind + ", " + where + " offset " + itoa(v.Off) + ")"
}

// decoded reports whether the decoder for a kind of violation ran over the response, and the
// target is responsible for what it decoded.
func (e *exam) decoded(kind string) bool {
	x := e.x
	area, _, _ := strings.Cut(kind, ".")
	switch area {
	case "http":
		return !http2(x) && (x.Response != nil || len(x.Violations) > 0)
	case "http2":
		return http2(x) || e.has(kind)
	case "grpc":
		return e.grpcAnswer() || e.webAnswer() && statusKind(wire.Kind(kind)) || e.has(kind)
	case "grpc-web":
		return e.webAnswer() || e.has(kind)
	case "envelope":
		return e.connectStream()
	case "end-stream":
		return e.connectStream() && x.EndStream != nil || e.connectStream() && e.has(kind)
	case "error":
		return e.connectStream() && (x.Error != nil || e.has(kind)) || e.unaryError()
	case "ndjson":
		return x.Shape == bundle.ShapeNDJSON && status(x) == 200
	case "execute":
		return e.execution()
	case "ws", "stdio":
		return x.Switched()
	case "event":
		return len(x.Events) > 0 && x.Shape != bundle.ShapeExecute || e.has(kind)
	}
	return x.Response != nil
}

func (e *exam) has(kind string) bool {
	return slices.ContainsFunc(e.x.Violations, func(v bundle.Violation) bool { return v.Kind == kind })
}

// excused reports whether a violation is not the target's fault: a truncation because Assay
// aborted or gave up, or extra bytes that respond to the rest of a request whose declared length
// was wrong (or may have been: chunks are written by the script).
func (e *exam) excused(v *bundle.Violation) bool {
	switch wire.Kind(v.Kind) {
	case wire.TruncatedHeader, wire.TruncatedPayload, wire.HTTPTruncated, wire.LineUnterminated,
		wire.GRPCTruncatedHeader, wire.GRPCTruncatedPayload, wire.GRPCStatusMissing, wire.GRPCMessageCount,
		wire.WebTruncatedHeader, wire.WebTruncatedPayload, wire.WebTrailersMissing,
		wire.H2Truncated, wire.H2ContentLength,
		wire.WSTruncatedHead, wire.WSTruncatedPayload, wire.WSUnfinished:
		return e.brokenOffByUs()
	case wire.HTTPExtra:
		return e.x.Op == bundle.OpRaw || !wholeRequest(e.x) || chunked(e.x)
	default:
		return false
	}
}

// brokenOffByUs reports whether the response is incomplete because of Assay: by the script, a
// deadline or the clean-up, or because our side of the connection was closed first.
func (e *exam) brokenOffByUs() bool {
	if e.x.Aborted {
		return true
	}
	switch e.x.Outcome {
	case bundle.OutcomeComplete:
		return false
	case bundle.OutcomeAborted, bundle.OutcomeStalled, bundle.OutcomeNoAnswer:
		return true
	default: // the connection ended first, or the response was not HTTP
	}
	c := e.conn(e.x.Conn)
	return !wholeRequest(e.x) || c != nil && c.Ended != nil && (c.Ended.By == "us" || strings.Contains(c.Ended.Err, afterOurFIN))
}

// afterOurFIN is part of the error of a connection that the peer ended after we had closed our
// half.
const afterOurFIN = "after we had sent FIN"

// connect reports whether an exchange is an RPC with a response in the Connect protocol.
func (e *exam) connect() bool {
	return e.x.Response != nil && isRPC(e.x) && protocol(e.x) == call.Connect
}

// grpcAnswer reports whether a response is gRPC by its content type. A response of a router (404,
// 405, 415 with another type) is legal HTTP.
func (e *exam) grpcAnswer() bool {
	t := responseType(e.x)
	return ofGRPC(e.x) && protocol(e.x) == call.GRPC && isType(t, "application/grpc")
}

// webAnswer reports whether a response is gRPC-Web by its content type.
func (e *exam) webAnswer() bool {
	return ofGRPC(e.x) && protocol(e.x) == call.GRPCWeb && isType(responseType(e.x), "application/grpc-web")
}

// isType reports whether a content type is the base, alone or with a codec.
func isType(t, base string) bool { return t == base || strings.HasPrefix(t, base+"+") }

// statusKind reports whether a kind is about the status, which gRPC-Web shares with gRPC.
func statusKind(k wire.Kind) bool {
	switch k {
	case wire.GRPCStatusMissing, wire.GRPCStatusValue, wire.GRPCStatusRepeated,
		wire.GRPCMessageEncoding, wire.GRPCMessageRepeated, wire.GRPCMessageOnOK,
		wire.GRPCDetailsBase64, wire.GRPCDetailsPadded, wire.GRPCDetailsProto,
		wire.GRPCDetailsDisagree, wire.GRPCDetailsOnOK, wire.GRPCMessageCount, wire.GRPCUnknownHeader:
		return true
	default:
		return false
	}
}

// connectStream reports whether a response is a Connect stream by its content type.
func (e *exam) connectStream() bool {
	return e.connect() && e.x.Shape == bundle.ShapeStream && strings.HasPrefix(responseType(e.x), call.StreamType)
}

// connectUnary reports whether a response belongs to a unary RPC in the Connect protocol.
func (e *exam) connectUnary() bool {
	return e.connect() && e.x.Shape == bundle.ShapeUnary
}

// unaryError reports whether a response is a unary error of the RPC layer. A response of a router
// or proxy before that layer (405, 415, a 404 for an unknown method, any body that is not JSON)
// is legal HTTP: clients infer the code.
func (e *exam) unaryError() bool {
	if !e.connectUnary() || status(e.x)/100 == 2 || responseType(e.x) != "application/json" {
		return false
	}
	switch status(e.x) {
	case 405, 413, 415, 431, 505:
		return false
	case 404:
		return processMethod(e.x.RPC)
	}
	return true
}

// processMethod reports whether an RPC is a method of a known service.
func processMethod(rpc string) bool {
	service, _, _ := strings.Cut(rpc, "/")
	_, err := call.Method(rpc)
	return err == nil && (service == "process.Process" || service == "assay.v1.Probe")
}

// wholeRequest reports whether a request has the length that it declares.
func wholeRequest(x *bundle.Exchange) bool {
	for _, h := range x.Request.Headers {
		if strings.EqualFold(h.Name, "Content-Length") && strings.TrimSpace(h.Value) != itoa(x.Request.Body.Len) {
			return false
		}
	}
	return true
}

func chunked(x *bundle.Exchange) bool {
	return slices.ContainsFunc(x.Request.Headers, func(h bundle.Header) bool {
		return strings.EqualFold(h.Name, "Transfer-Encoding")
	})
}
