package zoo

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/coder/websocket"

	"assay/fakes/stdio"
	"assay/internal/wire"
)

// wsCloseFaults returns the faults in how a session of the stdio surface is closed.
func wsCloseFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-close-without-code",
			Title:  "The Close frame after the exit message has no code",
			Breaks: []string{"stdio.close.normal"},
			Source: "Bun's ws.close() without arguments; clients report 1005",
		}, onClose(func(int, websocket.StatusCode) websocket.StatusCode { return websocket.StatusNoStatusRcvd })},
		{Fault{
			ID:     "stdio-close-missing",
			Title:  "After the exit message, the connection ends without a Close frame",
			Breaks: []string{"stdio.close.normal"},
			Source: "moby/moby#9860 and gateways that end with their process; clients report 1006",
		}, onSink(func(next stdio.Sink) stdio.Sink {
			return &sinkStage{Sink: next, shut: func(code websocket.StatusCode, reason string) error {
				if code == websocket.StatusNormalClosure {
					return nil
				}
				return next.Close(code, reason)
			}}
		})},
		{Fault{
			ID:     "stdio-close-1011",
			Title:  "The close code is 1011 unless the exit code is 0",
			Breaks: []string{"stdio.close.normal"},
			Source: "ttyd#109: clients reconnect, and the command runs again",
		}, onClose(func(exit int, code websocket.StatusCode) websocket.StatusCode {
			if exit != 0 {
				return websocket.StatusInternalError
			}
			return code
		})},
		{Fault{
			ID:     "stdio-close-1006",
			Title:  "The close code is 1006 unless the exit code is 0",
			Breaks: []string{"stdio.close.valid", "stdio.close.normal"},
			Source: "ttyd#1395",
		}, toClient(abnormalClose)},
		{Fault{
			ID:     "stdio-data-after-close",
			Title:  "An error message follows the Close frame",
			Breaks: []string{"stdio.close.nothing-after"},
			Source: "RFC 6455 5.5.1: servers whose tasks do not know of each other",
		}, eachFrames(func(f wsFrame, next func(wsFrame)) {
			next(f)
			if f.Opcode == wire.WSClose {
				next(serverFrame(wire.WSText, `{"type":"error","message":"the session is closed"}`))
			}
		})},
		{Fault{
			ID:     "stdio-close-unanswered",
			Title:  "A Close frame of the client is not answered: the connection ends",
			Breaks: []string{"stdio.close.answered"},
			Source: "RFC 6455 5.5.1: hand-written servers; clients report 1006",
		}, onWSFrames(func(*wsConn) wsStage {
			asked := false
			return wsStage{
				toServer: func(f wsFrame, next func(wsFrame)) {
					asked = asked || f.Opcode == wire.WSClose
					next(f)
				},
				toClient: func(f wsFrame, next func(wsFrame)) {
					if !asked || f.Opcode != wire.WSClose {
						next(f)
					}
				},
			}
		})},
		{Fault{
			ID:     "stdio-invalid-close-ignored",
			Title:  "A Close frame with an invalid payload is ignored",
			Breaks: []string{"stdio.close.client-code"},
			Source: "RFC 6455 7.4: servers that read the payload before they believe the frame",
		}, toServer(func() func(wsFrame, func(wsFrame)) {
			return func(f wsFrame, next func(wsFrame)) {
				if f.Opcode != wire.WSClose || isLegalClose(f.payload) {
					next(f)
				}
			}
		})},
	}
}

// isLegalClose reports whether a client may send the payload of a Close frame.
func isLegalClose(payload []byte) bool {
	code, reason, ok := wire.ParseWSClose(payload)
	return len(payload) == 0 || ok && wire.LegalWSCloseCode(code) && utf8.Valid(reason)
}

// onSink decorates the messages to every client of the stdio surface.
func onSink(decorate func(next stdio.Sink) stdio.Sink) func(*build) {
	return func(b *build) { b.Seams.Stdio = around(b.Seams.Stdio, decorate) }
}

// sinkStage replaces methods of a Sink; nil keeps one.
type sinkStage struct {
	stdio.Sink
	send func(m stdio.Message) error
	shut func(code websocket.StatusCode, reason string) error
}

// Send sends a message.
func (s *sinkStage) Send(m stdio.Message) error {
	if s.send != nil {
		return s.send(m)
	}
	return s.Sink.Send(m)
}

// Close closes the connection.
func (s *sinkStage) Close(code websocket.StatusCode, reason string) error {
	if s.shut != nil {
		return s.shut(code, reason)
	}
	return s.Sink.Close(code, reason)
}

// onClose replaces the close code behind an exit message.
func onClose(change func(exit int, code websocket.StatusCode) websocket.StatusCode) func(*build) {
	return onSink(func(next stdio.Sink) stdio.Sink {
		exit, ended := 0, false
		s := &sinkStage{Sink: next}
		s.send = func(m stdio.Message) error {
			if code, ok := exitOf(m.Data); ok && !m.Binary {
				exit, ended = code, true
			}
			return next.Send(m)
		}
		s.shut = func(code websocket.StatusCode, reason string) error {
			if ended {
				code = change(exit, code)
			}
			return next.Close(code, reason)
		}
		return s
	})
}

// exitText is an exit message.
type exitText struct {
	Type string `json:"type"`
	Code int    `json:"code"`
}

// exitOf reads an exit message.
func exitOf(text []byte) (code int, ok bool) {
	if len(text) > 256 {
		return 0, false
	}
	var e exitText
	if json.Unmarshal(text, &e) != nil || e.Type != wire.StdioExit {
		return 0, false
	}
	return e.Code, true
}

// exitMessage returns an exit message.
func exitMessage(code int) stdio.Message {
	text, _ := json.Marshal(exitText{wire.StdioExit, code}) // it cannot fail
	return stdio.Message{Data: text}
}

// abnormalClose writes a code that must not be sent.
func abnormalClose() func(f wsFrame, next func(wsFrame)) {
	failed := false
	return func(f wsFrame, next func(wsFrame)) {
		if code, ok := exitOf(f.payload); ok && f.Opcode == wire.WSText {
			failed = code != 0
		}
		if failed && f.Opcode == wire.WSClose {
			f = f.with(wire.AppendWSClose(nil, 1006, ""))
		}
		next(f)
	}
}

// wsCloseVariants returns the variants in how a session of the stdio surface is closed.
func wsCloseVariants() []variant {
	return []variant{{Variant{
		ID:     "stdio-close-reason",
		Title:  "The Close frame after the exit message has a reason",
		Source: "RFC 6455 section 5.5.1: a reason is optional",
	}, onSink(func(next stdio.Sink) stdio.Sink {
		return &sinkStage{Sink: next, shut: func(code websocket.StatusCode, reason string) error {
			if reason == "" {
				reason = "the session has ended – au revoir"
			}
			return next.Close(code, reason)
		}}
	})}}
}
