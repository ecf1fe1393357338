package gateway

import (
	"strings"
	"testing"

	"github.com/coder/websocket"

	"assay/fakes/stdio"
)

func TestAClientThatAnswersNoPingIsGivenUp(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 60}) // 60 s are 1 s
	silent := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
	pings := 0
	for {
		head, payload, err := readFrame(silent)
		if err != nil {
			t.Error("no Close frame")
			break
		}
		if head == finPing {
			pings++
		}
		if head == finClose {
			if code := int(payload[0])<<8 | int(payload[1]); code != 1008 || pings == 0 {
				t.Errorf("Close %d after %d pings", code, pings)
			}
			break
		}
	}
	_ = silent.Close()
	untilNothingRuns(t, g)
	wantBooks(t, g, 1, 0, 0, 1, 0)

	// A client that reads nothing answers no pings either. Which of the two minutes ends first depends on the machine; package
	// stdio tells them apart in virtual time.
	attachRaw(t, g, sh("yes "+strings.Repeat("x", 500))...)
	untilNothingRuns(t, g)
}

func TestTheMessagesToAClientCanBeDecorated(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Seams: Seams{Stdio: func(next stdio.Sink) stdio.Sink { return loudSink{next} }}})
	c := dialAttach(t, g, sh("echo up; exit 3")...).rest()
	if string(c.out[1]) != "UP\n" || c.code != 4001 {
		t.Errorf("%q, Close %d", c.out[1], c.code)
	}
}

// loudSink shouts.
type loudSink struct{ stdio.Sink }

func (s loudSink) Send(m stdio.Message) error {
	if m.Binary {
		m.Data = []byte(strings.ToUpper(string(m.Data)))
	}
	return s.Sink.Send(m)
}

func (s loudSink) Close(websocket.StatusCode, string) error { return s.Sink.Close(4001, "") }
