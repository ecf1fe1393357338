package transport

import (
	"fmt"
	"strings"
	"unsafe"

	"assay/internal/envd"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// The limits of the record of one exchange.
const (
	maxFrames        = 20_000
	maxEvents        = 20_000
	maxExtra         = 1_000 // frames with flags, and events other than data and keepalive, besides those
	maxViolations    = 256
	maxInformational = 64
	frameHead        = 1 << 10
	wholeMessage     = bundle.BlobWhole // of a stream whose messages are not decoded
	maxHeads         = 1 << 20          // frame heads, all together
	maxText          = 16 << 10         // of a status or a message of an error
)

// The memory of one entry, twice its size: the arrays double as they grow.
const (
	frameSize     = 2 * int(unsafe.Sizeof(bundle.Frame{}))
	eventSize     = 2 * int(unsafe.Sizeof(bundle.Event{}))
	exitSize      = int(unsafe.Sizeof(bundle.Exit{}))
	violationSize = 2 * int(unsafe.Sizeof(bundle.Violation{}))
)

// fieldSize is the memory of a header field, which is recorded without secrets beside the
// decoded one.
func fieldSize(name, value string) int {
	return 4*int(unsafe.Sizeof(bundle.Header{})) + 2*(len(name)+len(value))
}

// budget counts what the record of an exchange keeps and omits.
type budget struct {
	heads                                int
	frames, events                       places
	framesLeft, eventsLeft, breachesLeft int
}

// places counts entries: special ones have places of their own, so that the end of a long
// stream is always recorded.
type places struct{ plain, special int }

func (p *places) of(special bool) *int {
	if special {
		return &p.special
	}
	return &p.plain
}

// seen returns the number of frames so far, recorded or not.
func (b *budget) seen() int { return b.frames.plain + b.frames.special + b.framesLeft }

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

// room takes a place for one more entry of size bytes. Without special places nothing
// can be said about the rest of the stream, so that Assay stops reading it.
func (x *Exchange) room(p *places, limit int, special bool, size int) bool {
	n := p.of(special)
	switch {
	case special && *n >= maxExtra:
		x.leaveUnread(fmt.Sprintf("it has more than %d events or frames that are no output", maxExtra))
		return false
	case !special && *n >= limit, !x.keep(size):
		return false
	}
	*n++
	return true
}

// addFrame records a frame and returns its index, or -1 when it is omitted.
// payload is decompressed where that was possible.
func (x *Exchange) addFrame(f bundle.Frame, payload []byte, special bool) int {
	return x.keepFrame(f, payload, frameHead, special)
}

// addMessage records a frame whose payload is not decoded, and keeps a payload of up to
// wholeMessage bytes whole, so that it can be judged. It returns the index, as addFrame does.
func (x *Exchange) addMessage(f bundle.Frame, payload []byte, special bool) int {
	f.Whole = len(payload) <= wholeMessage && x.kept.heads+len(payload) <= maxHeads
	limit := frameHead
	if f.Whole {
		limit = 2 * wholeMessage // the replacement of a secret may be longer than the secret
	}
	return x.keepFrame(f, payload, limit, special)
}

func (x *Exchange) keepFrame(f bundle.Frame, payload []byte, limit int, special bool) int {
	f.Event = -1
	if x.kept.heads < maxHeads || special {
		f.Head = x.frameHead(payload, limit)
	}
	if !x.room(&x.kept.frames, maxFrames, special, frameSize+len(f.Head)) {
		x.kept.framesLeft++
		return -1
	}
	x.kept.heads += len(f.Head)
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
	size := eventSize
	switch ev.Kind {
	case bundle.EventData:
		s := x.output(e.Stream)
		ev.Stream, ev.Off, ev.Len = e.Stream, s.n, len(e.Data)
		s.add(e.Data, at)
	case bundle.EventEnd:
		exit := bundle.Exit(e.Exit)
		exit.Status = x.text(exit.Status)
		size += exitSize + len(exit.Status)
		if exit.Error != nil {
			text := x.text(*exit.Error)
			exit.Error = &text
			size += len(text)
		}
		ev.Exit = &exit
	case bundle.EventStart, bundle.EventKeepAlive, bundle.EventUnknown, bundle.EventCount, bundle.EventResult, bundle.EventError:
	}
	if !x.room(&x.kept.events, maxEvents, isSpecial(ev.Kind), size) {
		x.kept.eventsLeft++
		return
	}
	x.rec.Events = append(x.rec.Events, ev)
}

// text returns the record of a text: without secrets, and at most maxText bytes of it.
func (x *Exchange) text(s string) string {
	s = x.recorder.redact.Text(s)
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return s
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
		s = newStore(dataLimit, x.recorder.redact, x.keep)
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
	if !x.keep(violationSize + len(v.Detail)) {
		x.kept.breachesLeft++
		return
	}
	x.rec.Violations = append(x.rec.Violations, bundle.Violation{
		Kind: string(v.Kind), In: in, Off: v.Off,
		Detail: x.recorder.redact.detail(v.Detail), At: x.recorder.clock.Stamp(),
	})
}

func (x *Exchange) lastViolation() string {
	if n := len(x.rec.Violations); n > 0 {
		return x.rec.Violations[n-1].Detail
	}
	return "its framing is lost"
}
