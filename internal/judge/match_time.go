package judge

import (
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// matchWithin limits the time from the request to the return; the time scale extends the limit.
func matchWithin(l *look) finding {
	took, ok := duration(l.x)
	if !ok {
		return l.fails(-1, "time: the response never ended (%s)", answer(l.x)).as(shortfall(l.x))
	}
	if most := int64(l.m.Within.Deadline(l.cal)); took > most {
		return l.late(took-most, l.fails(-1, "time: want at most %s, took %s", phrase.Span(most), phrase.Span(took)))
	}
	return finding{}
}

// late returns the finding for a time limit missed by a duration: a breach, or inconclusive if this
// driver itself ran late by as much.
func (l *look) late(by int64, breach finding) finding {
	if l.lag == 0 || l.lag < by {
		breach.vain = true
		return breach
	}
	return l.inconclusive("%s; it missed the limit by %s, and this driver itself ran late by up to %s", breach.message, phrase.Span(by), phrase.Span(l.lag))
}

// matchNotBefore is the lower limit of the same time; the time scale does not extend it.
func matchNotBefore(l *look) finding {
	took, ok := duration(l.x)
	if !ok {
		return finding{}
	}
	if least := int64(l.m.NotBefore.Resolve(l.cal)); took < least {
		return l.fails(-1, "time: want at least %s, took %s (%s)", phrase.Span(least), phrase.Span(took), answer(l.x))
	}
	return finding{}
}

func duration(x *bundle.Exchange) (ns int64, ok bool) {
	if x.Returned == nil {
		return 0, false
	}
	return x.Returned.T - x.Invoked.T, true
}

// matchSpread requires at least this time between the first data event and the end event, as proof
// that output was not held back.
func matchSpread(l *look) finding {
	first := l.x.First(bundle.EventData)
	end := l.x.First(bundle.EventEnd)
	if first == nil || end == nil {
		return l.fails(-1, "spread: want a data and an end event, saw %s", answer(l.x)).as(noEnd(l.x))
	}
	least, got := int64(l.m.Spread.Resolve(l.cal)), end.At.T-first.At.T
	if got < least {
		return l.late(least-got, l.fails(frameOff(l.x, first.Frame),
			"spread: want the first data at least %s before the end, saw %s (held back; first data in %s)",
			phrase.Span(least), phrase.Span(got), place(l.x, first.Frame)))
	}
	return finding{}
}

// matchGap limits the time from the end-of-stream message to the end of the body.
func matchGap(l *look) finding {
	most := int64(l.m.Gap.Deadline(l.cal))
	over := finished(l.x)
	switch {
	case over == nil:
		return l.fails(-1, "gap: want an end-of-stream, saw %s", answer(l.x)).as(shortfallOr(l.x, bundle.SymptomNoEndStream))
	case l.x.Response == nil || l.x.Response.Ended == nil:
		return l.fails(-1, "gap: want the body to end within %s of the end-of-stream, it had not ended (%s)", phrase.Span(most), answer(l.x))
	}
	if got := l.x.Response.Ended.T - over.T; got > most {
		return l.late(got-most, l.fails(frameOff(l.x, endFrame(l.x)),
			"gap: want the body to end within %s of the end-of-stream, took %s", phrase.Span(most), phrase.Span(got)))
	}
	return finding{}
}
