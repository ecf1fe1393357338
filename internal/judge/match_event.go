package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// endEvent returns the first end event of an exchange and its index, or nil and -1.
func endEvent(x *bundle.Exchange) (*bundle.Event, int) {
	for i := range x.Events {
		if x.Events[i].Kind == bundle.EventEnd {
			return &x.Events[i], i
		}
	}
	return nil, -1
}

// eventFrames returns the frames of the events of a kind.
func eventFrames(x *bundle.Exchange, kind bundle.EventKind) (at []int) {
	for i := range x.Events {
		if x.Events[i].Kind == kind {
			at = append(at, x.Events[i].Frame)
		}
	}
	return at
}

// matchStart requires a start event as the first event or, if false, none.
func matchStart(l *look) finding {
	first := slices.IndexFunc(l.x.Events, func(e bundle.Event) bool { return e.Kind == bundle.EventStart })
	switch {
	case *l.m.Start && len(l.x.Events) == 0:
		return l.fails(-1, "start event: want one, saw %s", answer(l.x)).as(shortfallOr(l.x, bundle.SymptomNoStart))
	case *l.m.Start && first != 0:
		e := &l.x.Events[0]
		return l.fails(frameOff(l.x, e.Frame), "start event: want it first, saw %s (%s)", e.Kind, place(l.x, e.Frame)).as(bundle.SymptomOrder)
	case !*l.m.Start && first >= 0:
		e := &l.x.Events[first]
		return l.fails(frameOff(l.x, e.Frame), "start event: want none, saw pid %d (%s)", e.PID, place(l.x, e.Frame)).as(bundle.SymptomNotRefused)
	}
	return finding{}
}

// matchEnd compares the first end event with its matcher.
func matchEnd(l *look) finding {
	m := l.m.End
	e := l.x.First(bundle.EventEnd)
	if e == nil {
		return l.fails(-1, "end event: want %s, saw none (%s)", endWant(m), answer(l.x)).as(noEnd(l.x))
	}
	if e.Exit == nil {
		return l.fails(frameOff(l.x, e.Frame), "end event: want %s, saw one without content", endWant(m))
	}
	if what, want, got := endDiffers(m, e.Exit, l.x.Shape); what != "" {
		f := l.fails(frameOff(l.x, e.Frame), "%s: want %s, saw %s (end event, %s)", what, want, got, place(l.x, e.Frame))
		if what == "exit code" {
			return f.as(bundle.SymptomExitCode)
		}
		return f
	}
	seen := oneOf(len(m.Code), fmt.Sprintf("code %d", e.Exit.Code))
	if len(m.Signal) > 1 {
		seen = saw(e.Exit.Signal)
	}
	return seen
}

// endDiffers names the first part of an end event that differs. An NDJSON line and the exit message
// of a WebSocket have only the code:
// there any code but 0 counts as a signal, and exited, error and status are not compared.
func endDiffers(m *scenarios.EndMatch, e *bundle.Exit, shape bundle.Shape) (what, want, got string) {
	codeOnly := onlyCode(shape)
	switch {
	case len(m.Code) > 0 && !slices.Contains(m.Code, int(e.Code)):
		return "exit code", phrase.Legal(m.Code, strconv.Itoa), strconv.Itoa(int(e.Code))
	case len(m.Signal) > 0 && e.Code == 0:
		return "exit code", "any but 0 (ended by " + phrase.Legal(m.Signal, phrase.AsIs) + ")", "0"
	case codeOnly:
		return "", "", ""
	case len(m.Signal) > 0 && !slices.Contains(m.Signal, e.Signal):
		return "signal", phrase.Legal(m.Signal, phrase.AsIs), orNone(e.Signal) + ", status " + phrase.QuoteString(e.Status)
	case m.Exited != nil && *m.Exited != e.Exited:
		return "exited", strconv.FormatBool(*m.Exited), strconv.FormatBool(e.Exited)
	case m.Error != nil && *m.Error != hasText(e.Error):
		return "error text", presence(*m.Error), errorText(e)
	case m.Status != "" && m.Status != e.Status:
		return "status", phrase.QuoteString(m.Status), phrase.QuoteString(e.Status)
	}
	return "", "", ""
}

// onlyCode reports whether an end event of that shape has only the exit code.
func onlyCode(s bundle.Shape) bool { return s == bundle.ShapeNDJSON || s == bundle.ShapeStdio }

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func presence(want bool) string {
	if want {
		return "one"
	}
	return "none"
}

// hasText reports whether an error text is present and not empty.
func hasText(s *string) bool { return s != nil && *s != "" }

func errorText(e *bundle.Exit) string {
	if !hasText(e.Error) {
		return "none"
	}
	return phrase.QuoteString(*e.Error)
}

func endWant(m *scenarios.EndMatch) string {
	switch {
	case len(m.Code) > 0:
		return "exit code " + phrase.Legal(m.Code, strconv.Itoa)
	case len(m.Signal) > 0:
		return "an end by " + phrase.Legal(m.Signal, phrase.AsIs)
	}
	return "one"
}

// matchEnds counts end events: once, at-most-once, never.
func matchEnds(l *look) finding {
	at := eventFrames(l.x, bundle.EventEnd)
	n := len(at)
	want, known := map[string]string{"once": "exactly one", "at-most-once": "at most one", "never": "none"}[l.m.Ends]
	switch {
	case !known:
		return l.toolError("the script has ends: %s; want once, at-most-once or never", phrase.QuoteString(l.m.Ends))
	case n == 0 && l.m.Ends == "once":
		return l.fails(-1, "end events: want %s, saw none (%s)", want, answer(l.x)).as(noEnd(l.x))
	case n > 0 && l.m.Ends == "never":
		return l.fails(frameOff(l.x, at[0]), "end events: want %s, saw %d (the first: %s)", want, n, place(l.x, at[0]))
	case n > 1:
		return l.fails(frameOff(l.x, at[1]), "end events: want %s, saw %d (the second: %s)", want, n, place(l.x, at[1]))
	}
	return finding{}
}

// matchNever forbids kinds of events, streams of data (stdout, stderr, pty), end-stream and error.
func matchNever(l *look) finding {
	for _, m := range l.m.Never {
		switch m.Event {
		case "end-stream":
			if l.x.EndStream != nil || l.x.GRPC != nil {
				f := endFrame(l.x)
				return l.fails(frameOff(l.x, f), "end-of-stream: want none, saw one (%s)", place(l.x, f))
			}
		case "error":
			if l.x.Error != nil {
				return l.fails(-1, "error: want none, saw %s", rpcError(l.x.Error))
			}
			fallthrough
		default:
			for e := range bundle.Each(l.x.Events) {
				if isKind(e, m.Event) {
					return l.fails(frameOff(l.x, e.Frame), "%s event: want none, saw one (%s)", m.Event, place(l.x, e.Frame))
				}
			}
		}
	}
	return finding{}
}

func isKind(e *bundle.Event, kind string) bool {
	return string(e.Kind) == kind || e.Kind == bundle.EventData && e.Stream == kind
}

// matchEvents compares the sequence of events with a pattern.
func matchEvents(l *look) finding {
	p, err := scenarios.CompileEvents(l.m.Events)
	if err != nil {
		return l.toolError("events: %v", err)
	}
	tolerant := l.x.Shape == bundle.ShapeExecute && !strings.Contains(l.m.Events, string(bundle.EventUnknown))
	kinds := make([]string, 0, len(l.x.Events))
	for i := range l.x.Events {
		if kind := l.x.Events[i].Kind; kind != bundle.EventUnknown || !tolerant { // clients of an interpreter ignore other lines
			kinds = append(kinds, string(kind))
		}
	}
	if p.Match(kinds) {
		return finding{}
	}
	return l.fails(-1, "events: want %s, saw %s", phrase.QuoteString(l.m.Events), eventsSeen(l.x, strings.Contains(l.m.Events, "keepalive"))).as(eventsSymptom(l, kinds))
}

func eventsSeen(x *bundle.Exchange, keepalives bool) string {
	events := slices.DeleteFunc(slices.Clone(x.Events), func(e bundle.Event) bool {
		return !keepalives && e.Kind == bundle.EventKeepAlive
	})
	if len(events) == 0 {
		return "none (" + answer(x) + ")"
	}
	return strconv.Quote(strings.ReplaceAll(kindsText(events), "…", "..."))
}
