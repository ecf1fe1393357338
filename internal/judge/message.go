package judge

import (
	"fmt"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// frameOff returns the body offset of a frame, or -1.
func frameOff(x *bundle.Exchange, frame int) int64 {
	if x == nil || frame < 0 || frame >= len(x.Frames) {
		return -1
	}
	return x.Frames[frame].Off
}

// place returns the location of a frame: "frame 4, body offset 312". The record of a long response
// may lack frames in the middle; the number of a later frame is then unknown and left out.
func place(x *bundle.Exchange, frame int) string {
	off := frameOff(x, frame)
	if off < 0 {
		return "location not recorded"
	}
	word := "frame"
	if x.Shape.Lines() {
		word = "line"
	}
	if thinned(x.Frames[:frame+1]) {
		return fmt.Sprintf("body offset %d", off)
	}
	return fmt.Sprintf("%s %d, body offset %d", word, frame, off)
}

// thinned reports whether the record lacks frames between these: an envelope header takes five
// bytes and a newline one, so a larger gap was a frame.
func thinned(frames []bundle.Frame) bool {
	for i := 1; i < len(frames); i++ {
		if frames[i].Off-frames[i-1].Off-frames[i-1].Len > 2*wire.HeaderSize {
			return true
		}
	}
	return false
}

// answer summarizes the response of an exchange, for messages.
func answer(x *bundle.Exchange) string {
	if x == nil {
		return "nothing"
	}
	var parts []string
	if x.Response != nil {
		parts = append(parts, fmt.Sprintf("HTTP %d", x.Response.Status))
	}
	if x.Error != nil {
		parts = append(parts, "error "+rpcError(x.Error))
	}
	if len(x.Events) > 0 {
		parts = append(parts, "events "+kindsText(x.Events))
	}
	if e := x.First(bundle.EventEnd); e != nil {
		parts = append(parts, exitText(e.Exit))
	}
	if x.Response != nil && x.Outcome == bundle.OutcomeComplete {
		switch {
		case ofGRPC(x) && x.GRPC == nil:
			parts = append(parts, "no grpc-status")
		case !ofGRPC(x) && x.Shape == bundle.ShapeStream && x.EndStream == nil:
			parts = append(parts, "no end-of-stream")
		}
	}
	if c := x.Closing; c != nil {
		text := "close " + closeText(c.Code)
		if c.Reason != "" {
			text += " " + phrase.QuoteString(c.Reason)
		}
		parts = append(parts, text)
	}
	if x.Outcome != bundle.OutcomeComplete {
		parts = append(parts, outcomeText(x))
	}
	if len(parts) == 0 {
		return "an empty response"
	}
	return strings.Join(parts, ", ")
}

func rpcError(e *bundle.RPCError) string {
	switch {
	case e.Code == "" && e.Message == "":
		return "without a code"
	case e.Code == "":
		return "without a code " + phrase.QuoteString(e.Message)
	case e.Message == "":
		return e.Code
	}
	return e.Code + " " + phrase.QuoteString(e.Message)
}

func exitText(e *bundle.Exit) string {
	if e == nil {
		return "an end event without content"
	}
	if e.Signal != "" {
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("ended with code %d", e.Code)
}

// outcomeText describes the transport outcome.
func outcomeText(x *bundle.Exchange) string {
	texts := map[bundle.Outcome]string{
		bundle.OutcomeComplete:  "a complete response",
		bundle.OutcomeNoConnect: "no connection",
		bundle.OutcomeNoAnswer:  "no response before the deadline",
		bundle.OutcomeStalled:   "a response that had not ended by the deadline",
		bundle.OutcomeClosed:    "the connection closed before the response was complete",
		bundle.OutcomeReset:     "the connection reset before the response was complete",
		bundle.OutcomeGarbage:   "bytes that are not HTTP",
		bundle.OutcomeAborted:   "a response that Assay aborted",
	}
	text := texts[x.Outcome]
	if text == "" {
		text = "outcome " + phrase.QuoteString(string(x.Outcome))
	}
	if n := len(x.Frames); n > 0 && x.Outcome != bundle.OutcomeComplete {
		text += " (after " + phrase.Plural(n, "frame") + ")"
	}
	same := strings.HasSuffix(x.Detail, "the deadline") // the detail only repeats the text
	if x.Detail != "" && x.Outcome != bundle.OutcomeComplete && !same {
		text += ": " + phrase.Clip(x.Detail)
	}
	return text
}

// kindsText lists event kinds, with a count for equal neighbours: "start data×12 end".
func kindsText(events []bundle.Event) string {
	var words []string
	for i := 0; i < len(events); {
		n := i
		for n < len(events) && events[n].Kind == events[i].Kind {
			n++
		}
		word := string(events[i].Kind)
		if n-i > 1 {
			word += "×" + strconv.Itoa(n-i)
		}
		words = append(words, word)
		i = n
	}
	const most = 12
	if len(words) > most {
		words = append(append(words[:most-2:most-2], "…"), words[len(words)-1])
	}
	return strings.Join(words, " ")
}
