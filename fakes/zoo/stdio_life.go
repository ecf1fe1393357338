package zoo

import (
	"encoding/json"
	"slices"
	"sync"

	"assay/internal/wire"
)

// stdioLifeFaults returns the faults in the input of a session, and in what happens when its client goes.
func stdioLifeFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-input-swapped",
			Title:  "Of two binary messages that arrive together, the second reaches stdin first",
			Breaks: []string{"stdio.input.bytes", "stdio.input.after-close", "stdio.input.eof"},
			Source: "gateways that handle every message in a task of its own",
		}, onWSFrames(swapInput)},
		{Fault{
			ID:     "stdio-input-short",
			Title:  "Only the first 512 KiB of input reach stdin",
			Breaks: []string{"stdio.input.large"},
			Source: "AgentENV/cube-gateway: a write to a full pipe is abandoned",
		}, toServer(func() func(wsFrame, func(wsFrame)) {
			taken := 0
			return func(f wsFrame, next func(wsFrame)) {
				if f.Opcode == wire.WSBinary {
					if taken += len(f.payload); taken > 512<<10 {
						return
					}
				}
				next(f)
			}
		})},
		{Fault{
			ID:     "stdio-input-unread-ends",
			Title:  "More than 128 KiB of input that the process has not answered with output ends the session",
			Breaks: []string{"stdio.input.after-close", "stdio.input.large", "stdio.input.eof"},
			Source: "gateways that take EPIPE or a full pipe for the end of the session",
		}, onWSFrames(func(*wsConn) wsStage {
			unread := 0
			return wsStage{
				toServer: func(f wsFrame, next func(wsFrame)) {
					if f.Opcode == wire.WSBinary {
						if unread += len(f.payload); unread > 128<<10 {
							next(f.as(wire.WSClose, unsupported))
							return
						}
					}
					next(f)
				},
				toClient: func(f wsFrame, next func(wsFrame)) {
					if f.Opcode == wire.WSBinary {
						unread = 0
					}
					next(f)
				},
			}
		})},
		{Fault{
			ID:     "stdio-close-ignored",
			Title:  "A process lives on when its client closes the WebSocket",
			Breaks: []string{"stdio.end.client-closes"},
			Source: "kubernetes-client/javascript#2532",
		}, onWSFrames(func(c *wsConn) wsStage {
			return wsStage{toServer: func(f wsFrame, next func(wsFrame)) {
				if f.Opcode != wire.WSClose || !isLegalClose(f.payload) {
					next(f)
					return
				}
				c.answer(wire.WSClose, f.payload)
				c.goAway()
			}}
		})},
		{Fault{
			ID:     "stdio-loss-ignored",
			Title:  "A process lives on when its client is gone without a Close frame",
			Breaks: []string{"stdio.end.client-lost"},
			Source: "kubernetes-client/javascript#2532; ollama/ollama#17131",
		}, onWSFrames(func(c *wsConn) wsStage {
			closed := false
			return wsStage{
				toServer: func(f wsFrame, next func(wsFrame)) {
					closed = closed || f.Opcode == wire.WSClose
					next(f)
				},
				toClient: func(f wsFrame, next func(wsFrame)) {
					closed = closed || f.Opcode == wire.WSClose
					next(f)
				},
				lost: func(func(wsFrame)) {
					if !closed {
						c.goAway()
					}
				},
			}
		})},
		{Fault{
			ID:     "stdio-close-kills",
			Title:  "A process gets SIGKILL instead of SIGTERM when its client goes",
			Breaks: []string{"stdio.end.client-closes", "stdio.end.client-lost"},
			Source: "e2b-dev/infra#2933: one way to end a process; nothing can be saved",
		}, onWSFrames(func(c *wsConn) wsStage {
			if c.request.URL.Query().Has("session") {
				return wsStage{}
			}
			return signalAtEnd("SIGKILL")
		})},
		{Fault{
			ID:     "stdio-session-ends-with-client",
			Title:  "The process of a named session gets SIGTERM when a client goes",
			Breaks: []string{"stdio.session.detached", "stdio.session.replay"},
			Source: "gateways whose sessions are the connection",
		}, onWSFrames(func(c *wsConn) wsStage {
			if !c.request.URL.Query().Has("session") {
				return wsStage{}
			}
			return signalAtEnd("SIGTERM")
		})},
	}
}

// signalAtEnd sends a signal message in front of the client's Close frame or the end of the
// connection.
func signalAtEnd(name string) wsStage {
	sent := false
	signal := func(next func(wsFrame)) {
		if !sent {
			f := wsFrame{WSHead: wire.WSHead{Masked: true}}
			next(f.as(wire.WSText, `{"type":"signal","signal":"`+name+`"}`))
		}
		sent = true
	}
	return wsStage{
		toServer: func(f wsFrame, next func(wsFrame)) {
			if f.Opcode == wire.WSClose {
				signal(next)
			}
			next(f)
		},
		lost: signal,
	}
}

// swapInput swaps binary messages that arrive together.
func swapInput(c *wsConn) wsStage {
	var held *wsFrame
	return wsStage{toServer: func(f wsFrame, next func(wsFrame)) {
		whole := f.Opcode == wire.WSBinary && f.FIN
		switch {
		case held == nil && whole && c.in.startsWith(wire.WSBinary):
			held = &f
			return
		case held != nil:
			next(f)
			f, held = *held, nil
		}
		next(f)
	}}
}

// stdioSessionFaults returns the faults in sessions, shared sessions and panes.
func stdioSessionFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-replay-missing",
			Title:  "A client that joins a session gets nothing of what was kept",
			Breaks: []string{"stdio.session.replay", "stdio.session.exit"},
			Source: "e2b-dev/E2B#1587: a stream that was attached again begins with the present",
		}, func(b *build) { b.Seams.StdioPolicy.Replay = -1 }},
		{Fault{
			ID:     "stdio-session-exit-missing",
			Title:  "A client that joins a session gets no exit message",
			Breaks: []string{"stdio.session.exit", "stdio.exit.once"},
			Source: "fabric8#5159; agent-compose#382: another receiver has taken the end",
		}, onSessions(func(_ *wsConn, place int, _ func() bool) wsStage {
			if place == 0 {
				return wsStage{}
			}
			return wsStage{toClient: func(f wsFrame, next func(wsFrame)) {
				if _, is := exitOf(f.payload); !is || f.Opcode != wire.WSText {
					next(f)
				}
			}}
		})},
		{Fault{
			ID:     "stdio-output-first-only",
			Title:  "Only the first of the present clients of a session gets output",
			Breaks: []string{"stdio.shared.output"},
			Source: "NeMo Gym#2893 in reverse: one receiver per process",
		}, onSessions(func(_ *wsConn, _ int, first func() bool) wsStage {
			return wsStage{toClient: func(f wsFrame, next func(wsFrame)) {
				if f.Opcode != wire.WSBinary || first() {
					next(f)
				}
			}}
		})},
		{Fault{
			ID:     "stdio-viewer-types",
			Title:  "A viewer may send input",
			Breaks: []string{"stdio.shared.viewer"},
			Source: "gotty --permit-write is one setting for all; roles that only the client knows",
		}, func(b *build) { b.Seams.StdioPolicy.ViewersType = true }},
		{Fault{
			ID:     "stdio-second-may-not-type",
			Title:  "Only the first of the present clients of a session may send input",
			Breaks: []string{"stdio.shared.collaborative"},
			Source: "gateways with one writer per session, whatever the role",
		}, onSessions(func(_ *wsConn, _ int, first func() bool) wsStage {
			return wsStage{toServer: func(f wsFrame, next func(wsFrame)) {
				if f.Opcode != wire.WSBinary || first() {
					next(f)
				}
			}}
		})},
		{Fault{
			ID:     "stdio-pane-output-in-main",
			Title:  "The output of a pane arrives on the streams of the main process",
			Breaks: []string{"stdio.panes.open", "stdio.panes.input"},
			Source: "tmux in control mode, without the pane's number",
		}, onOutputMessage(func(data []byte) []byte {
			if data[0] > wire.StdioStderr {
				data[0] = (data[0]-1)%2 + 1
			}
			return data
		})},
		{Fault{
			ID:     "stdio-pane-input-in-main",
			Title:  "Input for a pane reaches the main process too",
			Breaks: []string{"stdio.panes.input"},
			Source: "tmux send-keys without a target",
		}, onText(func(f wsFrame, kind string, next func(wsFrame)) {
			var m struct{ Data string }
			if kind == "stdin" && json.Unmarshal(f.payload, &m) == nil {
				next(f.as(wire.WSBinary, m.Data))
			}
			next(f)
		})},
	}
}

// sessions numbers the connections of every session.
type sessions struct {
	mu      sync.Mutex
	joined  map[string]int
	present map[string][]*wsConn // by age; those that are closed are removed later
}

// join adds a connection.
func (s *sessions) join(id string, c *wsConn) (place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place = s.joined[id]
	s.joined[id]++
	s.present[id] = append(s.present[id], c)
	return place
}

// isFirst reports whether a connection is the oldest that is open.
func (s *sessions) isFirst(id string, c *wsConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present[id] = slices.DeleteFunc(s.present[id], func(c *wsConn) bool {
		select {
		case <-c.closed:
			return true
		default:
			return false
		}
	})
	return len(s.present[id]) > 0 && s.present[id][0] == c
}

// onSessions adds a stage to the connections of sessions. place is 0 for the first client of a session;
// first reports whether a client is the first of those that are there.
func onSessions(stage func(c *wsConn, place int, first func() bool) wsStage) func(*build) {
	return func(b *build) {
		s := &sessions{joined: map[string]int{}, present: map[string][]*wsConn{}}
		onWSFrames(func(c *wsConn) wsStage {
			id := c.request.URL.Query().Get("session")
			if id == "" {
				return wsStage{}
			}
			return stage(c, s.join(id, c), func() bool { return s.isFirst(id, c) })
		})(b)
	}
}
