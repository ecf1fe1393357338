package zoo

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
)

// eventFaults returns the faults in the events of a stream.
func eventFaults() []fault {
	return []fault{
		{Fault{
			ID:     "start-late",
			Title:  "The start event comes after the first output",
			Breaks: []string{"process.stream.start-first"},
			Source: "the E2B SDKs, which fail on any other first event",
		}, onEvents(startLate)},
		{Fault{
			ID:     "end-early",
			Title:  "The end event overtakes the last output",
			Breaks: []string{"process.stream.end-last", "process.stream.order"},
			Source: "boxlite#563, boxlite#705",
		}, onEvents(endEarly)},
		{Fault{
			ID:     "end-missing-without-output",
			Title:  "A process without output has no end event",
			Breaks: []string{"process.end.once", "process.stream.end-last"},
			Source: "CubeSandbox#136",
		}, onEvents(endNeedsOutput)},
		{Fault{
			ID:     "output-as-text",
			Title:  "Output is decoded as UTF-8 piece by piece",
			Breaks: []string{"process.output.exact"},
			Source: "e2b-dev/E2B#505",
		}, onEvents(asText)},
		{Fault{
			ID:     "output-obeyed",
			Title:  "A line of output that looks like an end event is dropped",
			Breaks: []string{"process.output.never-read"},
			Source: "Acode#2587",
		}, onEvents(obeyOutput)},
		{Fault{
			ID:     "stderr-as-stdout",
			Title:  "Standard error arrives as standard output",
			Breaks: []string{"process.output.streams-apart"},
			Source: "gateways that run every command on a terminal",
		}, onEvents(mergeStreams)},
		{Fault{
			ID:     "keepalive-never",
			Title:  "No keepalive is ever sent",
			Breaks: []string{"process.keepalive.interval"},
			Source: "sandbox0#263",
		}, onEvents(neverKeepAlive)},
	}
}

// eventVariants returns the variants in the events of a stream.
func eventVariants() []variant {
	return []variant{
		{Variant{
			ID:     "keepalive-between-events",
			Title:  "A keepalive event follows every event but the last",
			Source: "the envd protocol: a keepalive may come at any time after start",
		}, onEvents(keepaliveAfterEach)},
	}
}

// onEvents puts a decorator around the events of every stream.
func onEvents(decorate func(gateway.EventSink) gateway.EventSink) func(*build) {
	return func(b *build) { b.Seams.Events = around(b.Seams.Events, decorate) }
}

// startLate holds the start event back until another event has been sent.
func startLate(next gateway.EventSink) gateway.EventSink {
	var start *gateway.Event
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if e.Kind == gateway.EventStart {
			start = &e
			return nil
		}
		err := next.Send(e)
		if err == nil && start != nil {
			held := *start
			start = nil
			err = next.Send(held)
		}
		return err
	})
}

// endEarly swaps the end event with the output that is sent together with it.
func endEarly(next gateway.EventSink) gateway.EventSink {
	var last *gateway.Event
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		held := last
		last = nil
		switch {
		case e.Kind == gateway.EventEnd && held != nil:
			e.More = true
			if err := next.Send(e); err != nil {
				return err
			}
			held.More = false
			return next.Send(*held)
		case held != nil:
			if err := next.Send(*held); err != nil {
				return err
			}
		}
		if e.Kind == gateway.EventData && e.More {
			last = &e
			return nil
		}
		return next.Send(e)
	})
}

// endNeedsOutput sends the end event only after output.
func endNeedsOutput(next gateway.EventSink) gateway.EventSink {
	printed := false
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		printed = printed || e.Kind == gateway.EventData
		if e.Kind == gateway.EventEnd && !printed {
			return nil
		}
		return next.Send(e)
	})
}

// asText replaces invalid UTF-8 in each event, including a character that is
// split between events.
func asText(next gateway.EventSink) gateway.EventSink {
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if e.Kind == gateway.EventData {
			e.Chunk.Data = bytes.ToValidUTF8(e.Chunk.Data, []byte(string(utf8.RuneError)))
		}
		return next.Send(e)
	})
}

// obeyOutput drops output that looks like an end event.
func obeyOutput(next gateway.EventSink) gateway.EventSink {
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if e.Kind == gateway.EventData {
			var m struct {
				Type  string
				Event struct{ End *struct{} }
			}
			if json.Unmarshal(e.Chunk.Data, &m) == nil && (m.Type == "end" || m.Event.End != nil) {
				return nil
			}
		}
		return next.Send(e)
	})
}

// mergeStreams sends stderr as stdout.
func mergeStreams(next gateway.EventSink) gateway.EventSink {
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if e.Kind == gateway.EventData && e.Chunk.Stream == virtual.Stderr {
			e.Chunk.Stream = virtual.Stdout
		}
		return next.Send(e)
	})
}

// neverKeepAlive drops keepalives.
func neverKeepAlive(next gateway.EventSink) gateway.EventSink {
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if e.Kind == gateway.EventKeepAlive {
			return nil
		}
		return next.Send(e)
	})
}

// keepaliveAfterEach sends a keepalive after every event that is not the end.
func keepaliveAfterEach(next gateway.EventSink) gateway.EventSink {
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if err := next.Send(e); err != nil || e.Kind == gateway.EventEnd {
			return err
		}
		return next.Send(gateway.Event{Kind: gateway.EventKeepAlive, More: e.More})
	})
}
