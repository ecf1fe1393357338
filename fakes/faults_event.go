package fakes

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"assay/fakes/virtual"
)

// eventFaults spoil the events of a process on their way to one stream.
func eventFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "start-late",
			Title:  "The start event comes after the first output",
			Breaks: []string{"process.stream.start-first"},
			Source: "the E2B SDKs, which give up on any other first event",
		}, onEvents(startLate)},
		{Fault{
			ID:     "end-early",
			Title:  "The end event overtakes the last output",
			Breaks: []string{"process.stream.end-last", "process.stream.order"},
			Source: "boxlite#563, boxlite#705",
		}, onEvents(endEarly)},
		{Fault{
			ID:     "end-missing-without-output",
			Title:  "A process that printed nothing has no end event",
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
			Title:  "A line of output that looks like an end event is not passed on",
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

// onEvents puts a decorator around the events of every stream.
func onEvents(decorate func(eventSink) eventSink) func(*seams, uint64) {
	return func(s *seams, _ uint64) { s.events = around(s.events, decorate) }
}

// startLate holds the start event back until something else was sent.
func startLate(next eventSink) eventSink {
	var start *event
	return eventSinkFunc(func(e event) error {
		if e.kind == eventStart {
			start = &e
			return nil
		}
		err := next.send(e)
		if err == nil && start != nil {
			held := *start
			start = nil
			err = next.send(held)
		}
		return err
	})
}

// endEarly swaps the end event with the output that is sent together with it.
func endEarly(next eventSink) eventSink {
	var last *event
	return eventSinkFunc(func(e event) error {
		held := last
		last = nil
		switch {
		case e.kind == eventEnd && held != nil:
			e.more = true
			if err := next.send(e); err != nil {
				return err
			}
			held.more = false
			return next.send(*held)
		case held != nil:
			if err := next.send(*held); err != nil {
				return err
			}
		}
		if e.kind == eventData && e.more {
			last = &e
			return nil
		}
		return next.send(e)
	})
}

// endNeedsOutput sends the end event only after output.
func endNeedsOutput(next eventSink) eventSink {
	printed := false
	return eventSinkFunc(func(e event) error {
		printed = printed || e.kind == eventData
		if e.kind == eventEnd && !printed {
			return nil
		}
		return next.send(e)
	})
}

// asText replaces what is not UTF-8 in one event, a character at its border
// included.
func asText(next eventSink) eventSink {
	return eventSinkFunc(func(e event) error {
		if e.kind == eventData {
			e.chunk.data = bytes.ToValidUTF8(e.chunk.data, []byte(string(utf8.RuneError)))
		}
		return next.send(e)
	})
}

// obeyOutput looks for messages in the output.
func obeyOutput(next eventSink) eventSink {
	return eventSinkFunc(func(e event) error {
		if e.kind == eventData {
			var m struct {
				Type  string
				Event struct{ End *struct{} }
			}
			if json.Unmarshal(e.chunk.data, &m) == nil && (m.Type == "end" || m.Event.End != nil) {
				return nil
			}
		}
		return next.send(e)
	})
}

// mergeStreams forgets where output came from.
func mergeStreams(next eventSink) eventSink {
	return eventSinkFunc(func(e event) error {
		if e.kind == eventData && e.chunk.stream == virtual.Stderr {
			e.chunk.stream = virtual.Stdout
		}
		return next.send(e)
	})
}

// neverKeepAlive drops keepalives.
func neverKeepAlive(next eventSink) eventSink {
	return eventSinkFunc(func(e event) error {
		if e.kind == eventKeepAlive {
			return nil
		}
		return next.send(e)
	})
}
