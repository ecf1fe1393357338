package engine

import (
	"fmt"

	"assay/internal/record/bundle"
)

const (
	// thinEdge is how many frames at each end of a long answer are kept whole.
	thinEdge = 256
	// thinHeads is how many frames at each end of an answer keep the head of their
	// payload when their decoded event repeats it.
	thinHeads = 32
)

// trim bounds the frames and events of a long answer. It drops the heads of payloads in
// the middle; if the answer has more than 4 × thinEdge frames, it drops the data events
// in the middle as well. Every other event, and every length, offset and output, stays.
// It describes what was dropped.
func trim(x *bundle.Exchange) string {
	n := len(x.Frames)
	for i := thinHeads; i < n-thinHeads; i++ {
		if x.Frames[i].Event >= 0 {
			x.Frames[i].Head = nil
		}
	}
	if n <= 4*thinEdge {
		return ""
	}
	frames := make([]bundle.Frame, 0, 4*thinEdge)
	events := make([]bundle.Event, 0, 4*thinEdge)
	places := make(map[int]int) // of frames without an event, for the end of stream
	for i, f := range x.Frames {
		if f.Event < 0 || f.Event >= len(x.Events) {
			places[i] = len(frames)
			frames = append(frames, f)
			continue
		}
		e := x.Events[f.Event]
		if e.Kind == bundle.EventData && i >= thinEdge && i < n-thinEdge {
			continue
		}
		f.Event, e.Frame = len(events), len(frames)
		frames, events = append(frames, f), append(events, e)
	}
	gone := len(x.Events) - len(events)
	if x.EndStream != nil {
		if at, ok := places[x.EndStream.Frame]; ok {
			end := *x.EndStream
			end.Frame = at
			x.EndStream = &end
		}
	}
	x.Frames, x.Events = frames, events
	return fmt.Sprintf("exchange %d (%s): %d data events in the middle of its answer", x.ID, x.Name, gone)
}
