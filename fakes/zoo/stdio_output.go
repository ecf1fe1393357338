package zoo

import (
	"bytes"
	"sync"
	"time"

	"github.com/coder/websocket"

	"assay/fakes/stdio"
	"assay/internal/base/crash"
	"assay/internal/wire"
)

// stdioOutputFaults returns the faults in the output of the stdio surface.
func stdioOutputFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-tail-lost-often",
			Title:  "3 of 10 sessions lose the last chunk of their output, of at most 4 KiB, and have the right exit message",
			Breaks: []string{"stdio.output.complete"},
			Source: "boxlite#563, boxlite#705: 30 % of the runs, with a right exit code and close code 1000",
		}, loseStdioTails},
		{Fault{
			ID:     "stdio-stderr-as-stdout",
			Title:  "Standard error arrives as standard output",
			Breaks: []string{"stdio.output.streams"},
			Source: "gateways that run every command on a terminal",
		}, onOutputMessage(func(data []byte) []byte {
			if data[0] == wire.StdioStderr {
				data[0] = wire.StdioStdout
			}
			return data
		})},
		{Fault{
			ID:     "stdio-empty-output",
			Title:  "An empty binary message precedes the first output",
			Breaks: []string{"stdio.message.valid"},
			Source: "kubectl exec, whose server opens every channel with a message without data; gateways that flush an empty buffer",
		}, onSink(func(next stdio.Sink) stdio.Sink {
			begun := false
			return &sinkStage{Sink: next, send: func(m stdio.Message) error {
				if m.Binary && !begun {
					begun = true
					if err := next.Send(stdio.Message{Binary: true, Data: nil}); err != nil {
						return err
					}
				}
				return next.Send(m)
			}}
		})},
		{Fault{
			ID:     "stdio-output-as-text",
			Title:  "Output is decoded as UTF-8 message by message",
			Breaks: []string{"stdio.output.bytes", "stdio.parity.bytes", "stdio.input.bytes"},
			Source: "e2b-dev/E2B#505; TextDecoder without stream",
		}, onOutputMessage(func(data []byte) []byte {
			return append(data[:1:1], bytes.ToValidUTF8(data[1:], []byte("\uFFFD"))...)
		})},
		{Fault{
			ID:     "stdio-output-obeyed",
			Title:  "A line of output that is an exit message is dropped",
			Breaks: []string{"stdio.output.bytes"},
			Source: "Acode#2587",
		}, onOutputMessage(func(data []byte) []byte {
			kept := data[:1:1]
			for line := range bytes.Lines(data[1:]) {
				if _, is := exitOf(line); !is {
					kept = append(kept, line...)
				}
			}
			if len(kept) == 1 {
				return nil
			}
			return kept
		})},
		{Fault{
			ID:     "stdio-silent-after-4-mib",
			Title:  "After 4 MiB of output, only the exit message is sent",
			Breaks: []string{"stdio.output.large", "stdio.output.slow-reader"},
			Source: "e2b-dev/E2B#1352, e2b-dev/infra#2579",
		}, onSink(func(next stdio.Sink) stdio.Sink {
			sent := 0
			return &sinkStage{Sink: next, send: func(m stdio.Message) error {
				if sent += len(m.Data); m.Binary && sent > 4<<20 {
					return nil
				}
				return next.Send(m)
			}}
		})},
		{Fault{
			ID:     "stdio-output-held",
			Title:  "Output is sent when there are 256 KiB of it, or when the process ends",
			Breaks: []string{"stdio.output.prompt"},
			Source: "a buffered writer without a flush",
		}, onSink(func(next stdio.Sink) stdio.Sink { return newHeldSink(next, holding{limit: 256 << 10}) })},
	}
}

// onOutputMessage changes the binary messages; nil drops one.
func onOutputMessage(change func(data []byte) []byte) func(*build) {
	return onMessage(func(m stdio.Message, next send) error {
		if m.Binary && len(m.Data) > 0 {
			if m.Data = change(bytes.Clone(m.Data)); m.Data == nil {
				return nil
			}
		}
		return next(m)
	})
}

// holding says how long a heldSink holds output.
type holding struct {
	limit int           // bytes of one stream that are sent at once
	rest  time.Duration // after which what is held is sent; 0: never
	// exit sends the exit message; nil: behind what is held.
	exit func(h *heldSink, m stdio.Message) error
}

// heldSink holds output back. With limit 1 it holds the last message.
type heldSink struct {
	stdio.Sink
	holding
	mu     sync.Mutex
	held   []byte // a binary message
	stop   func() bool
	closed bool
}

func newHeldSink(next stdio.Sink, h holding) *heldSink {
	return &heldSink{Sink: next, holding: h, stop: func() bool { return true }}
}

// Send sends a message.
func (h *heldSink) Send(m stdio.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !m.Binary || len(m.Data) == 0 {
		if _, ok := exitOf(m.Data); ok && h.exit != nil {
			h.stop()
			return h.exit(h, m)
		}
		if err := h.flush(); err != nil {
			return err
		}
		return h.Sink.Send(m)
	}
	if len(h.held) >= h.limit || len(h.held) > 0 && h.held[0] != m.Data[0] {
		if err := h.flush(); err != nil {
			return err
		}
	}
	if h.held == nil {
		h.held = append(h.held, m.Data[0])
		if h.rest > 0 {
			h.stop = time.AfterFunc(h.rest, h.rested).Stop
		}
	}
	h.held = append(h.held, m.Data[1:]...)
	return nil
}

// flush sends what is held. Called with mu held.
func (h *heldSink) flush() error {
	h.stop()
	held := h.held
	h.held = nil
	if len(held) < 2 || h.closed {
		return nil
	}
	return h.Sink.Send(stdio.Message{Binary: true, Data: held})
}

// rested sends what was held long enough.
func (h *heldSink) rested() {
	defer crash.Catch()
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.flush() // the next message returns the same error
}

// Close closes the connection.
func (h *heldSink) Close(code websocket.StatusCode, reason string) error {
	h.mu.Lock()
	h.closed = true
	h.stop()
	h.mu.Unlock()
	return h.Sink.Close(code, reason)
}

// loseStdioTails drops the last chunk of 3 of 10 sessions at their exit.
func loseStdioTails(b *build) {
	lossy := newShare(3, 10, b.seed)
	onSink(func(next stdio.Sink) stdio.Sink {
		if !lossy.strikes() {
			return next
		}
		return newHeldSink(next, holding{limit: 1, rest: pipeRest, exit: func(h *heldSink, m stdio.Message) error {
			h.held = h.held[:max(0, len(h.held)-lossyChunk)]
			if err := h.flush(); err != nil {
				return err
			}
			return next.Send(m)
		}})
	})(b)
}

// stdioOutputVariants returns the variants in how output is cut into messages.
func stdioOutputVariants() []variant {
	return []variant{
		{Variant{
			ID:     "stdio-one-byte-messages",
			Title:  "The first 4 KiB of output are messages of 1 byte, the rest of 61 bytes",
			Source: "the protocol: how output is cut into messages means nothing",
		}, onSink(func(next stdio.Sink) stdio.Sink {
			sent := 0
			return &sinkStage{Sink: next, send: func(m stdio.Message) error {
				if !m.Binary || len(m.Data) == 0 {
					return next.Send(m)
				}
				for p := m.Data[1:]; len(p) > 0; {
					n := 1
					if sent >= singleBytes {
						n = min(restPiece, len(p))
					}
					if err := next.Send(stdio.Message{Binary: true, Data: append([]byte{m.Data[0]}, p[:n]...)}); err != nil {
						return err
					}
					p, sent = p[n:], sent+n
				}
				return nil
			}}
		})},
		{Variant{
			ID:     "stdio-large-messages",
			Title:  "Output waits 20 ms for more of it, and has messages of up to 256 KiB",
			Source: "the protocol: how output is cut into messages means nothing; RFC 6455 has no limit",
		}, onSink(func(next stdio.Sink) stdio.Sink { return newHeldSink(next, holding{limit: 256 << 10, rest: pipeRest}) })},
	}
}
