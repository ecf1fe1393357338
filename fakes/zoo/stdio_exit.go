package zoo

import (
	"strconv"

	"assay/fakes/stdio"
)

// stdioExitFaults returns the faults in the exit message.
func stdioExitFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-exit-twice",
			Title:  "The exit message is sent twice",
			Breaks: []string{"stdio.exit.once", "stdio.exit.last"},
			Source: "gateways that report the end of the process, and that of its output",
		}, onMessage(func(m stdio.Message, next send) error {
			if _, ok := exitOf(m.Data); ok && !m.Binary {
				if err := next(m); err != nil {
					return err
				}
			}
			return next(m)
		})},
		{Fault{
			ID:     "stdio-exit-missing",
			Title:  "A session whose exit code is not 0 has no exit message",
			Breaks: []string{"stdio.exit.once", "stdio.exit.code", "stdio.exit.signal", "stdio.exit.not-found"},
			Source: "cloudflare/sandbox-sdk#287; gotty, which has none at all",
		}, onExitCode(func(code int, next func(int) error) error {
			if code != 0 {
				return nil
			}
			return next(code)
		})},
		{Fault{
			ID:     "stdio-exit-early",
			Title:  "The exit message overtakes the last output",
			Breaks: []string{"stdio.exit.last", "stdio.output.complete"},
			Source: "boxlite#563, boxlite#705",
		}, onSink(func(next stdio.Sink) stdio.Sink {
			return newHeldSink(next, holding{limit: 1, rest: pipeRest, exit: func(h *heldSink, m stdio.Message) error {
				if err := next.Send(m); err != nil {
					return err
				}
				return h.flush()
			}})
		})},
		{Fault{
			ID:     "stdio-message-after-exit",
			Title:  "An error message follows the exit message",
			Breaks: []string{"stdio.exit.last"},
			Source: "gateways whose reader notices the end after their writer",
		}, onMessage(func(m stdio.Message, next send) error {
			err := next(m)
			if _, ok := exitOf(m.Data); ok && !m.Binary && err == nil {
				return next(stdio.Message{Data: []byte(`{"type":"error","message":"the process has ended"}`)})
			}
			return err
		})},
		{Fault{
			ID:     "stdio-exit-code-wait-status",
			Title:  "The exit code is the status of wait(2): 256 times the exit code",
			Breaks: []string{"stdio.exit.code", "stdio.parity.exit"},
			Source: "gateways that pass the status of wait(2) on; Perl's $?",
		}, onExitCode(func(code int, next func(int) error) error {
			if code < 128 {
				code <<= 8
			}
			return next(code)
		})},
		{Fault{
			ID:     "stdio-signal-exit-0",
			Title:  "The exit code of a process killed by a signal is 0",
			Breaks: []string{"stdio.exit.signal"},
			Source: "e2b-dev/infra#90; Bun and Node, whose exit code is null then: code ?? 0",
		}, onExitCode(func(code int, next func(int) error) error {
			if code > 128 && code < 128+32 {
				code = 0
			}
			return next(code)
		})},
		{Fault{
			ID:     "stdio-unknown-exit-0",
			Title:  "The exit code of a command that does not exist is 0",
			Breaks: []string{"stdio.exit.not-found"},
			Source: "gateways whose error path ends a session like any other",
		}, onExitCode(func(code int, next func(int) error) error {
			if code == 127 {
				code = 0
			}
			return next(code)
		})},
	}
}

// send sends one message.
type send func(m stdio.Message) error

// onMessage changes the messages to every client.
func onMessage(change func(m stdio.Message, next send) error) func(*build) {
	return onSink(func(next stdio.Sink) stdio.Sink {
		return &sinkStage{Sink: next, send: func(m stdio.Message) error { return change(m, next.Send) }}
	})
}

// onExitCode changes the exit messages.
func onExitCode(change func(code int, next func(int) error) error) func(*build) {
	return onMessage(func(m stdio.Message, next send) error {
		code, ok := exitOf(m.Data)
		if m.Binary || !ok {
			return next(m)
		}
		return change(code, func(code int) error { return next(exitMessage(code)) })
	})
}

// stdioExitVariants returns the variants in the text messages.
func stdioExitVariants() []variant {
	return []variant{
		{Variant{
			ID:     "stdio-exit-json",
			Title:  "The exit message has its members in another order, white space, an escape and further members",
			Source: "RFC 8259: none of that means anything",
		}, onMessage(func(m stdio.Message, next send) error {
			if code, ok := exitOf(m.Data); ok && !m.Binary {
				m.Data = []byte("{\n  \"code\" : " + strconv.Itoa(code) + ",\n  \"signal\" : null,\n  \"usage\" : {\"type\": \"cpu\", \"ms\": 1.5e0},\n  \"type\" : \"ex\\u0069t\"\n}\n")
			}
			return next(m)
		})},
		{Variant{
			ID:     "stdio-errors-untold",
			Title:  "Control messages that are refused are refused in silence",
			Source: "the original protocol, which has no error message",
		}, onMessage(func(m stdio.Message, next send) error {
			if !m.Binary && textType(m.Data) == "error" {
				return nil
			}
			return next(m)
		})},
	}
}
