package transport

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd"
	"assay/internal/wire"
)

// The limits of the record of one exchange.
const (
	maxFrames        = 20_000
	maxEvents        = 20_000
	maxExtra         = 1_000 // frames with flags, and events other than data and keepalive, beyond those
	maxViolations    = 256
	maxInformational = 64
	frameHead        = 1 << 10
	wholeMessage     = bundle.BlobWhole // of a stream whose messages are not decoded
	maxHeads         = 1 << 20          // frame heads, all together
)

// budget counts what the record of an exchange keeps and omits.
type budget struct {
	heads                                int
	framesLeft, eventsLeft, breachesLeft int
}

// left describes the omissions, "" without any.
func (b *budget) left() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{b.framesLeft, "frames"}, {b.eventsLeft, "events"}, {b.breachesLeft, "violations"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// room reports whether one more may be kept after n. Special ones have maxExtra places
// of their own, so that the end of a long stream is always recorded.
func room(n, limit int, special bool) bool {
	return n < limit || special && n < limit+maxExtra
}

// addFrame records a frame and returns its index, or -1 when it is omitted.
// payload is decompressed where that was possible.
func (x *Exchange) addFrame(f bundle.Frame, payload []byte, special bool) int {
	return x.keepFrame(f, payload, frameHead, special)
}

// addMessage records a frame whose payload is not decoded, and keeps a payload of up to
// wholeMessage bytes whole, so that it can be judged.
func (x *Exchange) addMessage(f bundle.Frame, payload []byte, special bool) {
	f.Whole = len(payload) <= wholeMessage && x.kept.heads+len(payload) <= maxHeads
	limit := frameHead
	if f.Whole {
		limit = 2 * wholeMessage // the replacement of a secret may be longer than the secret
	}
	x.keepFrame(f, payload, limit, special)
}

func (x *Exchange) keepFrame(f bundle.Frame, payload []byte, limit int, special bool) int {
	if !room(len(x.rec.Frames), maxFrames, special) {
		x.kept.framesLeft++
		return -1
	}
	f.Event = -1
	if x.kept.heads < maxHeads || special {
		f.Head = x.frameHead(payload, limit)
		x.kept.heads += len(f.Head)
	}
	x.rec.Frames = append(x.rec.Frames, f)
	return len(x.rec.Frames) - 1
}

// frameHead returns a copy of the first limit bytes of a payload, without secrets.
func (x *Exchange) frameHead(payload []byte, limit int) []byte {
	if len(payload) == 0 {
		return nil
	}
	redact := x.recorder.redact
	p := redact.Bytes(payload[:min(len(payload), limit+redact.Margin())])
	return append([]byte(nil), p[:min(len(p), limit)]...)
}

// addEvent records a decoded event and appends its data to its output. frame is
// the index of its frame, or -1.
func (x *Exchange) addEvent(e envd.Event, frame int, at bundle.Stamp) {
	ev := bundle.Event{Kind: bundle.EventKind(e.Kind), At: at, Frame: frame, PID: e.PID}
	switch ev.Kind {
	case bundle.EventData:
		s := x.output(e.Stream)
		ev.Stream, ev.Off, ev.Len = e.Stream, s.n, len(e.Data)
		s.add(e.Data, at)
	case bundle.EventEnd:
		redact := x.recorder.redact
		exit := bundle.Exit(e.Exit)
		exit.Status = redact.Text(exit.Status)
		if exit.Error != nil {
			text := redact.Text(*exit.Error)
			exit.Error = &text
		}
		ev.Exit = &exit
	case bundle.EventStart, bundle.EventKeepAlive, bundle.EventUnknown:
	}
	if !room(len(x.rec.Events), maxEvents, isSpecial(ev.Kind)) {
		x.kept.eventsLeft++
		return
	}
	x.rec.Events = append(x.rec.Events, ev)
}

func isSpecial(k bundle.EventKind) bool {
	return k != bundle.EventData && k != bundle.EventKeepAlive
}

func (x *Exchange) output(stream string) *store {
	s := x.outputs[stream]
	if s == nil {
		if x.outputs == nil {
			x.outputs = map[string]*store{}
		}
		s = newStore(dataLimit, x.recorder.redact)
		x.outputs[stream] = s
	}
	return s
}

// Where a violation was found.
const (
	inHTTP  = "http"
	inBody  = "body"
	inFrame = "frame"
	inEvent = "event"
)

// violate records a violation. Its offset is one of the connection's bytes for http, else of the body.
func (x *Exchange) violate(in string, v wire.Violation) {
	if len(x.rec.Violations) >= maxViolations {
		x.kept.breachesLeft++
		return
	}
	x.rec.Violations = append(x.rec.Violations, bundle.Violation{
		Kind: string(v.Kind), In: in, Off: v.Off,
		Detail: x.recorder.redact.Text(v.Detail), At: x.recorder.clock.Stamp(),
	})
}

func (x *Exchange) lastViolation() string {
	if n := len(x.rec.Violations); n > 0 {
		return x.rec.Violations[n-1].Detail
	}
	return "its framing is lost"
}
