package judge

import (
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// checkHTTPTrailers: a Connect response has no HTTP trailers; trailing metadata is in Trailer-
// headers or in the end-of-stream message.
func checkHTTPTrailers(e *exam) finding {
	if !e.connect() || e.x.Outcome != bundle.OutcomeComplete {
		return notApplied
	}
	return e.withoutTrailers()
}

func (e *exam) withoutTrailers() finding {
	if ts := e.x.Response.Trailers; len(ts) > 0 {
		return e.fails(-1, "want no HTTP trailers, saw %s: %s", phrase.QuoteString(ts[0].Name), phrase.QuoteString(ts[0].Value))
	}
	return finding{}
}

// checkStreamStatus: a Connect stream has HTTP status 200, even if the RPC fails: then its
// end-of-stream message has the error. Errors from below the RPC layer are legal: see beforeRPC.
func checkStreamStatus(e *exam) finding {
	s := status(e.x)
	switch {
	case e.connectStream() && s != 200:
		return e.fails(-1, "want HTTP 200 for a stream of type %s, saw %d", responseType(e.x), s).as(bundle.SymptomStreamStatus)
	case e.connectStream():
		return finding{}
	case !e.streamCall() || s == 200 || s == 0 || e.beforeRPC():
		return notApplied
	}
	return e.fails(-1, "want HTTP 200 and an end-of-stream message with the error, saw HTTP %d of type %s: %s",
		s, orNone(responseType(e.x)), blobStart(bodyOf(e.x))).as(bundle.SymptomStreamStatus)
}

// streamCall reports whether a request is a well-formed call, in the Connect protocol, of a
// streaming procedure that the target has.
func (e *exam) streamCall() bool {
	feature := map[string]string{call.ProcessStart: "process.start", call.ProcessConnect: "process.connect"}[e.x.RPC]
	return e.connect() && e.x.Shape == bundle.ShapeStream && feature != "" && e.x.Request.Method == "POST" &&
		isStreamType(requestType(e.x)) && e.x.Op != bundle.OpRaw && wholeRequest(e.x) && !e.x.Aborted &&
		e.x.Outcome == bundle.OutcomeComplete && e.features[feature].State != bundle.FeatureAbsent
}

// beforeRPC reports whether an HTTP error may come from a layer before the RPC: a check of the
// token, the protocol version or the content type, or a limit of a server or proxy. Apart from
// the three checks, an error with an RPC code does not. A codec that the target does not know gets HTTP 415: what
// else it gets breaks only the rule that says so.
func (e *exam) beforeRPC() bool {
	codec := strings.TrimPrefix(requestType(e.x), call.StreamType)
	if codec != call.JSON && codec != call.Proto {
		return true
	}
	request := &bundle.Response{Headers: e.x.Request.Headers}
	switch status(e.x) {
	case 401, 403, 415:
		return true
	case 400:
		version := request.Get("Connect-Protocol-Version")
		return len(version) != 1 || version[0] != "1" || !rpcErrorBody(e.x)
	}
	return !rpcErrorBody(e.x)
}

// rpcErrorBody reports whether the body of an HTTP error is a unary RPC error.
func rpcErrorBody(x *bundle.Exchange) bool {
	if x.Error != nil {
		return true
	}
	b := bodyOf(x)
	if !b.Whole() || responseType(x) != "application/json" {
		return false
	}
	v, err := value.Decode(b.Data)
	object, _ := v.(map[string]any)
	name, _ := object["code"].(string)
	_, known := wire.CodeByName(name)
	return err == nil && known
}

// bodyOf returns the body of a response; an empty one if there is none.
func bodyOf(x *bundle.Exchange) *bundle.Blob {
	if x.Body == nil {
		return &bundle.Blob{}
	}
	return x.Body
}

// checkStreamContentType: a stream has the content type of its request.
func checkStreamContentType(e *exam) finding {
	want := requestType(e.x)
	if !e.connect() || e.x.Shape != bundle.ShapeStream || !succeededPost(e.x) || !isStreamType(want) {
		return notApplied
	}
	if got := responseType(e.x); got != want {
		return e.fails(-1, "content type: want %s, as in the request, saw %s", want, orNone(got))
	}
	return finding{}
}

// checkEndStreamOnce: a stream that Assay did not abort ends with exactly one end-of-stream
// message, and nothing follows it.
func checkEndStreamOnce(e *exam) finding {
	if !e.connectStream() || status(e.x) != 200 {
		return notApplied
	}
	var at []int
	for i := range e.x.Frames {
		if e.x.Frames[i].Flags&wire.FlagEndStream != 0 {
			at = append(at, i)
		}
	}
	switch {
	case len(at) > 1:
		return e.fails(frameOff(e.x, at[1]), "want exactly one end-of-stream, saw %d (the second: %s)", len(at), place(e.x, at[1]))
	case len(at) == 1 && at[0] != len(e.x.Frames)-1:
		return e.fails(frameOff(e.x, at[0]+1), "want nothing after the end-of-stream, saw %s more (%s)",
			phrase.Plural(len(e.x.Frames)-1-at[0], "frame"), place(e.x, at[0]+1))
	case len(at) == 1:
		return finding{}
	case e.brokenOffByUs():
		return notApplied
	}
	return e.fails(e.x.Response.Body, "want an end-of-stream as the last frame, saw the body end without one (%s, %d bytes)",
		phrase.Plural(len(e.x.Frames), "frame"), e.x.Response.Body).as(shortfallOr(e.x, bundle.SymptomNoEndStream))
}
