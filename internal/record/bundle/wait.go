package bundle

import (
	"strconv"
	"strings"
)

// WaitKind is the kind of a wait.
type WaitKind string

// The kinds. They are stored, so they never change.
const (
	WaitEnd     WaitKind = "end of the answer"        // of an exchange, for a call or the end of the steps
	WaitDone    WaitKind = "done"                     // the same, for an await
	WaitHead    WaitKind = "head"                     // the head of a response
	WaitUpgrade WaitKind = "upgrade"                  // to a WebSocket
	WaitPID     WaitKind = "pid"                      // the start event, which has the pid
	WaitListed  WaitKind = "the process in a list"    // the process of a WebSocket, whose pid only a list has
	WaitClosed  WaitKind = "closed"                   // a connection, by the peer
	WaitTime    WaitKind = "time enough for the step" // of the iteration, where no other wait explains why its steps stopped
	WaitEvent   WaitKind = "event"                    // of the kind Of
	WaitOutput  WaitKind = "output"                   // that contains Of
	WaitMessage WaitKind = "a message"                // that fits the description Of
	WaitFrame   WaitKind = "frame"                    // of HTTP/2 or of a WebSocket that fits Of
	WaitFrames  WaitKind = "frames"                   // Of frames or more
	WaitBytes   WaitKind = "bytes"                    // Of bytes or more
	WaitSilence WaitKind = "silence"                  // of the duration Of
	WaitAnchor  WaitKind = "anchor"                   // the event NAME.EVENT that releases a race
	WaitValue   WaitKind = ""                         // a value of a response that a later step needs: KIND.NAME
)

var waitKinds = []WaitKind{
	WaitEnd, WaitDone, WaitHead, WaitUpgrade, WaitPID, WaitListed, WaitClosed, WaitTime, WaitEvent, WaitOutput,
	WaitMessage, WaitFrame, WaitFrames, WaitBytes, WaitSilence, WaitAnchor,
}

// Wait is what a step waits for: its kind, and what the kind leaves open, "" for nothing. In a bundle it is a
// text, which also a person can read.
type Wait struct {
	Kind WaitKind
	Of   string
}

// String returns the wait as it is printed and stored: `output "ready"`.
func (w Wait) String() string {
	switch {
	case w.Kind == WaitValue:
		return w.Of
	case w.Kind == WaitOutput:
		return string(w.Kind) + " " + strconv.Quote(w.Of)
	case w.Of == "":
		return string(w.Kind)
	}
	return string(w.Kind) + " " + w.Of
}

// MarshalText returns the text.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads the text. It takes what is none for the name of a value, so that it prints as it is.
func (w *Wait) UnmarshalText(text []byte) error {
	for _, kind := range waitKinds {
		switch rest, is := strings.CutPrefix(string(text), string(kind)); {
		case !is, rest != "" && rest[0] != ' ':
			continue
		case kind == WaitOutput:
			of, err := strconv.Unquote(strings.TrimPrefix(rest, " "))
			if err != nil {
				continue
			}
			*w = Wait{Kind: kind, Of: of}
		default:
			*w = Wait{Kind: kind, Of: strings.TrimPrefix(rest, " ")}
		}
		return nil
	}
	*w = Wait{Of: string(text)}
	return nil
}
