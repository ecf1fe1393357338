package judge

import (
	"assay/internal/bundle"
	"assay/internal/wire"
)

// checkHTTPTrailers: no HTTP trailers in any Connect answer; trailing metadata
// travels in Trailer- headers or in the end-of-stream message.
func checkHTTPTrailers(e *exam) applied {
	if !e.connect() || e.x.Outcome != bundle.OutcomeComplete {
		return notApplied()
	}
	if ts := e.x.Response.Trailers; len(ts) > 0 {
		return breaks(-1, "want no HTTP trailers, saw %s: %s", quoteString(ts[0].Name), quoteString(ts[0].Value))
	}
	return holds()
}

// checkStreamStatus: a Connect stream has HTTP status 200, also when the RPC failed.
func checkStreamStatus(e *exam) applied {
	if !e.connectStream() {
		return notApplied()
	}
	if s := status(e.x); s != 200 {
		return breaks(-1, "want HTTP 200 for a stream of type %s, saw %d", responseType(e.x), s)
	}
	return holds()
}

// checkStreamContentType: a stream has the content type of its request.
func checkStreamContentType(e *exam) applied {
	want := requestType(e.x)
	if !e.connect() || e.x.Shape != bundle.ShapeStream || !succeededPost(e.x) || !isStreamType(want) {
		return notApplied()
	}
	if got := responseType(e.x); got != want {
		return breaks(-1, "content type: want %s, as in the request, saw %s", want, orNone(got))
	}
	return holds()
}

// checkEndStreamOnce: a stream that was not broken off by us ends with exactly one
// end-of-stream message, and nothing comes after it.
func checkEndStreamOnce(e *exam) applied {
	if !e.connectStream() || status(e.x) != 200 {
		return notApplied()
	}
	var at []int
	for i := range e.x.Frames {
		if e.x.Frames[i].Flags&wire.FlagEndStream != 0 {
			at = append(at, i)
		}
	}
	switch {
	case len(at) > 1:
		return breaks(frameOff(e.x, at[1]), "want exactly one end-of-stream, saw %d (the second: %s)", len(at), place(e.x, at[1]))
	case len(at) == 1 && at[0] != len(e.x.Frames)-1:
		return breaks(frameOff(e.x, at[0]+1), "want nothing after the end-of-stream, saw %s more (%s)",
			plural(len(e.x.Frames)-1-at[0], "frame"), place(e.x, at[0]+1))
	case len(at) == 1:
		return holds()
	case e.brokenOffByUs():
		return notApplied()
	}
	return breaks(e.x.Response.Body, "want an end-of-stream as the last frame, saw the body end without one (%s, %d bytes)",
		plural(len(e.x.Frames), "frame"), e.x.Response.Body)
}
