package zoo

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"assay/fakes/virtual"
	"assay/internal/wire"
)

// stdioControlFaults returns the faults in the control messages of the client, and in telling them from input.
func stdioControlFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-input-obeyed",
			Title:  "A binary message that is a control message is obeyed",
			Breaks: []string{"stdio.input.not-control"},
			Source: "wazuh#34460: gateways that parse every message; some WebSocket libraries do not tell text from binary",
		}, onInput(func(f wsFrame, next func(wsFrame)) {
			if textType(f.payload) != "" {
				f.Opcode = wire.WSText
			}
			next(f)
		})},
		{Fault{
			ID:     "stdio-malformed-is-input",
			Title:  "A text message that is no control message is input",
			Breaks: []string{"stdio.control.malformed"},
			Source: "gateways that fall back to stdin where JSON does not parse",
		}, onText(func(f wsFrame, kind string, next func(wsFrame)) {
			if kind == "" {
				f.Opcode = wire.WSBinary
			}
			next(f)
		})},
		{Fault{
			ID:     "stdio-unknown-type-ends",
			Title:  "A control message of an unknown type ends the session",
			Breaks: []string{"stdio.control.unknown"},
			Source: "the protocol's own parser, which throws \"Unknown control message\"",
		}, onText(func(f wsFrame, kind string, next func(wsFrame)) {
			switch kind {
			case "", "resize", "signal", "eof", "stdin", "open":
				next(f)
			default:
				next(f.as(wire.WSClose, unsupported))
			}
		})},
		{Fault{
			ID:     "stdio-signal-ignored",
			Title:  "Signal messages are ignored",
			Breaks: []string{"stdio.signal.delivered"},
			Source: "gateways for terminals, where Control-C is input",
		}, dropText("signal")},
		{Fault{
			ID:     "stdio-signal-always-term",
			Title:  "Every signal message sends SIGTERM",
			Breaks: []string{"stdio.signal.delivered", "stdio.signal.unknown"},
			Source: "gateways that call kill() of a library without its argument; an unknown name kills",
		}, onText(func(f wsFrame, kind string, next func(wsFrame)) {
			if kind == "signal" {
				f = f.as(wire.WSText, `{"type":"signal","signal":"SIGTERM"}`)
			}
			next(f)
		})},
		{Fault{
			ID:     "stdio-unknown-signal-kills",
			Title:  "A signal message with an unknown name sends SIGTERM",
			Breaks: []string{"stdio.signal.unknown"},
			Source: "Node and Bun, where kill(undefined) is SIGTERM",
		}, onText(func(f wsFrame, kind string, next func(wsFrame)) {
			var m struct{ Signal any }
			if kind == "signal" && json.Unmarshal(f.payload, &m) == nil {
				if name, _ := m.Signal.(string); virtual.SignalNamed(name) == 0 {
					f = f.as(wire.WSText, `{"type":"signal","signal":"SIGTERM"}`)
				}
			}
			next(f)
		})},
		{Fault{
			ID:     "stdio-eof-ignored",
			Title:  "The message eof is ignored",
			Breaks: []string{"stdio.input.eof"},
			Source: "kubernetes#89899: stdin cannot be closed",
		}, dropText("eof")},
		{Fault{
			ID:     "stdio-empty-is-eof",
			Title:  "An empty binary message ends stdin",
			Breaks: []string{"stdio.input.empty"},
			Source: "gateways that copy a read of 0 bytes from a file to a message",
		}, onInput(func(f wsFrame, next func(wsFrame)) {
			if len(f.payload) == 0 {
				f = f.as(wire.WSText, `{"type":"eof"}`)
			}
			next(f)
		})},
		{Fault{
			ID:     "stdio-resize-ends-pipe",
			Title:  "A resize without a terminal ends the session",
			Breaks: []string{"stdio.resize.pipe"},
			Source: "ENOTTY of TIOCSWINSZ, taken for the end; browsers send a resize at once",
		}, onWSFrames(func(c *wsConn) wsStage {
			terminal := c.request.URL.Query().Get("pty") == "1"
			return wsStage{toServer: func(f wsFrame, next func(wsFrame)) {
				if isText(f) && textType(f.payload) == "resize" && !terminal {
					f = f.as(wire.WSClose, unsupported)
				}
				next(f)
			}}
		})},
		{Fault{
			ID:     "stdio-resize-unchecked",
			Title:  "A size outside of 1 to 65535 is replaced by 1",
			Breaks: []string{"stdio.resize.size"},
			Source: "gateways that cast the size to 16 bits",
		}, onText(func(f wsFrame, kind string, next func(wsFrame)) {
			var m map[string]any
			if kind == "resize" && json.Unmarshal(f.payload, &m) == nil {
				if cols, rows := side(m["cols"]), side(m["rows"]); cols*rows != 0 {
					f = f.as(wire.WSText, `{"type":"resize","cols":`+strconv.Itoa(cols)+`,"rows":`+strconv.Itoa(rows)+`}`)
				}
			}
			next(f)
		})},
		{Fault{
			ID:     "stdio-resize-ignored",
			Title:  "A resize does nothing",
			Breaks: []string{"stdio.pty.resize"},
			Source: "the protocol's own server: resize is ignored",
		}, dropText("resize")},
		{Fault{
			ID:     "stdio-control-c-eaten",
			Title:  "Control-C is not passed on",
			Breaks: []string{"stdio.pty.interrupt", "stdio.input.bytes"},
			Source: "gateways that treat a key of their own in the input, as the client does with Ctrl+]",
		}, onInput(func(f wsFrame, next func(wsFrame)) {
			if string(f.payload) != "\x03" {
				next(f)
			}
		})},
	}
}

// unsupported is the payload of a Close frame with the code 1003.
const unsupported = "\x03\xeb"

// side returns a width or height, 1 for one that no terminal has, and 0 for what is no number.
func side(v any) int {
	n, ok := v.(float64)
	switch {
	case !ok:
		return 0
	case n < 1 || n > 65535:
		return 1
	default:
		return int(n)
	}
}

// isText reports whether a frame is a whole text message.
func isText(f wsFrame) bool { return f.Opcode == wire.WSText && f.FIN }

// textType returns the type of a text message; "" if it has none.
func textType(text []byte) string {
	var m struct{ Type any }
	if json.Unmarshal(text, &m) != nil {
		return ""
	}
	kind, _ := m.Type.(string)
	return kind
}

// onText changes the whole text messages of the client.
func onText(change func(f wsFrame, kind string, next func(wsFrame))) func(*build) {
	return eachClientFrames(func(f wsFrame, next func(wsFrame)) {
		if isText(f) && utf8.Valid(f.payload) {
			change(f, textType(f.payload), next)
			return
		}
		next(f)
	})
}

// dropText makes empty input of the text messages of one type: a frame that breaks a rule still does.
func dropText(drop string) func(*build) {
	return onText(func(f wsFrame, kind string, next func(wsFrame)) {
		if kind == drop {
			f = f.as(wire.WSBinary, "")
		}
		next(f)
	})
}

// onInput changes the whole binary messages of the client.
func onInput(change func(f wsFrame, next func(wsFrame))) func(*build) {
	return eachClientFrames(func(f wsFrame, next func(wsFrame)) {
		if f.Opcode == wire.WSBinary && f.FIN {
			change(f, next)
			return
		}
		next(f)
	})
}
