package judge

import (
	"fmt"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/scenarios"
)

// message is one message of a response.
type message struct {
	frame   int // -1 for a body without envelopes
	payload *bundle.Blob
}

// messagesOf lists the messages of a response. A successful unary response of Connect has one;
// each line of an NDJSON response is one. A message of a WebSocket is recorded in its last frame.
func messagesOf(x *bundle.Exchange) []message {
	if x.Shape == bundle.ShapeStdio {
		return socketMessages(x)
	}
	if x.Shape == bundle.ShapeUnary && !ofGRPC(x) {
		if status(x) != 200 || x.Error != nil {
			return nil
		}
		body := x.Body
		if body == nil {
			body = &bundle.Blob{}
		}
		return []message{{frame: -1, payload: body}}
	}
	var all []message
	for i := range x.Frames {
		if !isEndFrame(x, x.Frames[i].Flags) {
			all = append(all, message{frame: i, payload: payload(&x.Frames[i])})
		}
	}
	return all
}

// payload returns the payload of a frame. It is whole if the record says so, or if it is
// uncompressed and no byte is missing.
func payload(f *bundle.Frame) *bundle.Blob {
	if f.Whole || f.Flags&wire.FlagCompressed == 0 && int64(len(f.Head)) == f.Len {
		return &bundle.Blob{Len: int64(len(f.Head)), Data: f.Head}
	}
	return &bundle.Blob{Len: max(f.Len, int64(len(f.Head))+1), Head: f.Head}
}

// matchMessages compares the messages of a response with a count, with a description of each,
// and with descriptions of some of them.
func matchMessages(l *look) finding {
	m, all := l.m.Messages, messagesOf(l.x)
	want := len(m.All)
	if m.Count != nil {
		want = *m.Count
	}
	if (m.Count != nil || m.All != nil) && len(all) != want {
		return l.fails(-1, "messages: want %d, saw %d (%s)", want, len(all), answer(l.x))
	}
	for i := range m.All {
		if f := l.message(i, &all[i], &m.All[i]); !f.ok() {
			return f
		}
	}
	for i := range m.None {
		for n := range all {
			if l.message(n, &all[n], &m.None[i]).ok() {
				return l.fails(frameOff(l.x, all[n].frame), "messages: want none %s, saw message %d", &m.None[i], n)
			}
		}
	}
	from := 0
	for i := range m.Some {
		var f finding
		if from, f = l.someMessage(all, from, &m.Some[i]); !f.ok() {
			return f
		}
	}
	return finding{}
}

// message compares the i-th message of a response with its description.
func (l *look) message(i int, got *message, want *scenarios.BodyMatch) finding {
	f := l.payload(fmt.Sprintf("message %d", i), want, got.payload)
	if !f.ok() {
		f.at.Off = frameOff(l.x, got.frame)
	}
	return f
}

// someMessage looks for a message that fits, beginning at index from; next is the index after it.
func (l *look) someMessage(all []message, from int, want *scenarios.BodyMatch) (next int, f finding) {
	var doubt finding
	for i := from; i < len(all); i++ {
		f = l.message(i, &all[i], want)
		if f.ok() {
			return i + 1, f
		}
		if f.grade != violated {
			doubt = worst(doubt, f)
		}
	}
	where := ""
	if from > 0 {
		where = fmt.Sprintf(" after message %d", from-1)
	}
	switch {
	case !doubt.ok():
		return len(all), doubt
	case thinned(l.x.Frames):
		return len(all), l.inconclusive("messages: want one %s%s, saw none, but not all messages were kept", want, where)
	}
	return len(all), l.fails(-1, "messages: want one %s%s, saw none (%s, %s)", want, where, phrase.Plural(len(all), "message"), answer(l.x)).
		as(shortfallOr(l.x, bundle.SymptomOutputMissing))
}

// MessageFits reports whether a message of an exchange in progress fits a description, beginning
// at frame from. next is the first frame that was not examined. vars are the values of the
// variables in the description.
func MessageFits(x *bundle.Exchange, from int, want *scenarios.BodyMatch, vars map[string]string) (fits bool, next int) {
	l := &look{scene: &scene{it: &bundle.Iteration{Vars: vars}}, x: x}
	for _, got := range messagesOf(x) {
		if got.frame >= from && l.message(got.frame, &got, want).ok() {
			return true, len(x.Frames)
		}
	}
	next = len(x.Frames)
	if x.Shape == bundle.ShapeStdio && next > 0 && !x.Frames[next-1].Whole {
		next-- // its payload may be still on the way
	}
	return false, next
}
