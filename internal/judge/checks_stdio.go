package judge

import (
	"slices"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

const closeNormal = 1000

// checkStdioExitOnce: a session has at most one exit message, and exactly one if the gateway ends it
// normally.
func checkStdioExitOnce(e *exam) finding {
	if !e.x.Switched() {
		return notApplied
	}
	at := eventFrames(e.x, bundle.EventEnd)
	if len(at) == 0 {
		if c := e.x.Closing; c != nil && c.Code == closeNormal && !c.Answer {
			return e.fails(-1, "want an exit message before close code 1000, saw none (%s)", answer(e.x)).as(bundle.SymptomNoEnd)
		}
		return notApplied
	}
	if len(at) > 1 {
		return e.fails(frameOff(e.x, at[1]), "want one exit message, saw a second (%s)", place(e.x, at[1])).as(bundle.SymptomEndEvent)
	}
	return finding{}
}

// checkStdioExitLast: no message follows the exit message. A second exit message breaks another rule.
func checkStdioExitLast(e *exam) finding {
	end, first := endEvent(e.x)
	if !e.x.Switched() || first < 0 {
		return notApplied
	}
	again := eventFrames(e.x, bundle.EventEnd)
	for i := end.Frame + 1; end.Frame >= 0 && i < len(e.x.Frames); i++ {
		f := &e.x.Frames[i]
		if op := wire.WSOpcode(f.Flags & 0xf); !op.Control() && !slices.Contains(again, i) {
			return e.fails(f.Off, "want the exit message as the last one, saw a %s message after it (%s)", op, place(e.x, i)).as(bundle.SymptomOrder)
		}
	}
	return finding{}
}

// checkStdioClose: the exit message is followed by a close frame with code 1000.
func checkStdioClose(e *exam) finding {
	if _, end := endEvent(e.x); !e.x.Switched() || end < 0 {
		return notApplied
	}
	code, ended := closeCode(e.x)
	switch c := e.x.Closing; {
	case c != nil && c.Answer, e.brokenOffByUs() && code == closeWithoutFrame:
		return notApplied // we closed it first
	case !ended:
		return notApplied // scripts that wait for it say whether it is late
	case code != closeNormal:
		return e.fails(-1, "want close code 1000 after the exit message, saw %s", closeText(code)).as(shortfallOr(e.x, bundle.SymptomEndEvent))
	}
	return finding{}
}
