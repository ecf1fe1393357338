package judge

import (
	"assay/internal/bundle"
	"assay/internal/wire"
)

const closeNormal = 1000

// checkStdioExitOnce: a session has at most one exit message, and exactly one if the gateway ends it
// normally.
func checkStdioExitOnce(e *exam) applied {
	if !e.x.Switched() {
		return notApplied()
	}
	_, first := endEvent(e.x)
	if first < 0 {
		if c := e.x.Closing; c != nil && c.Code == closeNormal && !c.Answer {
			return breaks(-1, "want an exit message before close code 1000, saw none (%s)", answer(e.x)).as(bundle.SymptomNoEnd)
		}
		return notApplied()
	}
	for i := first + 1; i < len(e.x.Events); i++ {
		if ev := &e.x.Events[i]; ev.Kind == bundle.EventEnd {
			return breaks(frameOff(e.x, ev.Frame), "want one exit message, saw a second (%s)", place(e.x, ev.Frame)).as(bundle.SymptomEndEvent)
		}
	}
	return fulfilled()
}

// checkStdioExitLast: no message follows the exit message. A second exit message breaks another rule.
func checkStdioExitLast(e *exam) applied {
	end, first := endEvent(e.x)
	if !e.x.Switched() || first < 0 {
		return notApplied()
	}
	again := map[int]bool{}
	for i := range e.x.Events {
		if e.x.Events[i].Kind == bundle.EventEnd {
			again[e.x.Events[i].Frame] = true
		}
	}
	for i := end.Frame + 1; end.Frame >= 0 && i < len(e.x.Frames); i++ {
		f := &e.x.Frames[i]
		if op := wire.WSOpcode(f.Flags & 0xf); !op.Control() && !again[i] {
			return breaks(f.Off, "want the exit message as the last one, saw a %s message after it (%s)", op, place(e.x, i)).as(bundle.SymptomOrder)
		}
	}
	return fulfilled()
}

// checkStdioClose: the exit message is followed by a close frame with code 1000.
func checkStdioClose(e *exam) applied {
	if _, end := endEvent(e.x); !e.x.Switched() || end < 0 {
		return notApplied()
	}
	code, ended := closeCode(e.x)
	switch c := e.x.Closing; {
	case c != nil && c.Answer, e.brokenOffByUs() && code == closeWithoutFrame:
		return notApplied() // we closed it first
	case !ended:
		return notApplied() // scripts that wait for it say whether it is late
	case code != closeNormal:
		return breaks(-1, "want close code 1000 after the exit message, saw %s", closeText(code)).as(shortfallOr(e.x, bundle.SymptomEndEvent))
	}
	return fulfilled()
}
