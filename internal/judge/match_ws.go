package judge

import (
	"fmt"
	"slices"
	"strconv"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/scenarios"
)

// Codes that stand for the end of a WebSocket without a code (RFC 6455, section 7.1.5).
const (
	closeWithoutCode  = 1005
	closeWithoutFrame = 1006
)

// begun reports whether an exchange shows that its process runs: a start event, or the upgrade to a
// WebSocket.
func begun(x *bundle.Exchange) bool { return slices.ContainsFunc(x.Events, isStart) || x.Switched() }

// matchWS requires these WebSocket frames from the peer.
func matchWS(l *look) finding {
	for _, want := range l.m.WS {
		if !slices.ContainsFunc(l.x.Frames, func(f bundle.Frame) bool { return socketFrameIs(l.x, &f, want) }) {
			if slices.ContainsFunc(l.x.Frames, func(f bundle.Frame) bool { return !f.Whole && socketKind(&f) == want.Type && f.Len > 0 }) {
				return l.inconclusive("WebSocket: frames were not kept whole")
			}
			return l.fails(-1, "WebSocket: want a frame %s, saw %s", want, socketSeen(l.x)).as(shortfallOr(l.x, bundle.SymptomConnection))
		}
	}
	return finding{}
}

// matchWSNever forbids these WebSocket frames from the peer.
func matchWSNever(l *look) finding {
	for _, never := range l.m.WSNever {
		for i := range l.x.Frames {
			if f := &l.x.Frames[i]; socketFrameIs(l.x, f, never) {
				return l.fails(f.Off, "WebSocket: want no frame %s, saw one (%s)", never, place(l.x, i))
			}
		}
	}
	return finding{}
}

// socketMessages lists the text and binary messages of a WebSocket.
func socketMessages(x *bundle.Exchange) []message {
	if !x.Switched() {
		return nil
	}
	var all []message
	for i := range x.Frames {
		f := &x.Frames[i]
		if f.Flags&wsFinal == 0 || wire.WSOpcode(f.Flags&0xf).Control() {
			continue
		}
		got := &bundle.Blob{Len: int64(len(f.Head)), Data: f.Head}
		if !f.Whole {
			got = &bundle.Blob{Len: max(f.Len, int64(len(f.Head))+1), Head: f.Head}
		}
		all = append(all, message{frame: i, payload: got})
	}
	return all
}

// wsFinal is the bit of the last frame of a message.
const wsFinal = 0x80

// matchClose compares the code of the peer's close frame with the legal set.
func matchClose(l *look) finding {
	want := phrase.Legal(l.m.Close, closeText)
	if !l.x.Switched() {
		return l.fails(-1, "close code: want %s, saw no WebSocket (%s)", want, answer(l.x)).as(shortfall(l.x))
	}
	got, ended := closeCode(l.x)
	switch {
	case !ended:
		return l.fails(-1, "close code: want %s, saw an open WebSocket (%s)", want, answer(l.x)).as(shortfall(l.x))
	case !slices.Contains(l.m.Close, got):
		return l.fails(-1, "close code: want %s, saw %s", want, closeText(got))
	}
	return oneOf(len(l.m.Close), closeText(got))
}

// closeCode returns the code with which the peer ended a WebSocket; ended is false if it did not.
func closeCode(x *bundle.Exchange) (code int, ended bool) {
	switch {
	case x.Closing != nil:
		return x.Closing.Code, true
	case x.Outcome == bundle.OutcomeClosed || x.Outcome == bundle.OutcomeReset:
		return closeWithoutFrame, true
	}
	return 0, false
}

func closeText(code int) string {
	switch code {
	case closeWithoutCode:
		return "a close frame without a code"
	case closeWithoutFrame:
		return "the end of the connection without a close frame"
	}
	return strconv.Itoa(code)
}

func socketKind(f *bundle.Frame) string { return wire.WSOpcode(f.Flags & 0xf).String() }

// socketFrameIs reports whether a frame fits a match.
func socketFrameIs(x *bundle.Exchange, f *bundle.Frame, m scenarios.WSMatch) bool {
	return x.Switched() && m.Fits(socketKind(f), f.Head, f.Whole)
}

// socketSeen lists the frames of a WebSocket by type; equal neighbours are listed once.
func socketSeen(x *bundle.Exchange) string {
	if !x.Switched() {
		return answer(x)
	}
	var words []string
	for i := range x.Frames {
		words = append(words, socketKind(&x.Frames[i]))
	}
	return fmt.Sprintf("%s (%s)", orNone(listOnce(words)), answer(x))
}
