package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"assay/fakes/stdio"
)

func TestFramesThatAreForbiddenCloseTheConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		sent []byte
		code int
	}{
		{"a message beyond 1 MiB", frame(finBinary, strings.Repeat("x", 1<<20+1)), 1009},
		{"a text beyond 1 MiB", frame(finText, strings.Repeat("x", 1<<20+1)), 1009},
		{"fragments beyond 1 MiB", append(frame(binary, strings.Repeat("x", 1<<20)), frame(finCont, "xy")...), 1009},
		{"a text that is not UTF-8", frame(finText, "{\xff}"), 1007},
		{"a reason that is not UTF-8", frame(finClose, "\x03\xe8f\xc3("), 1007},
		{"an unmasked frame", []byte{finBinary, 1, 'x'}, 1002},
		{"a reserved bit", frame(0xc2, "x"), 1002},
		{"an unknown opcode", frame(0x83, "x"), 1002},
		{"a continuation of nothing", frame(finCont, "x"), 1002},
		{"a message inside a message", append(frame(binary, "x"), frame(finBinary, "y")...), 1002},
		{"a fragmented ping", frame(0x09, "x"), 1002},
		{"a long ping", frame(finPing, strings.Repeat("x", 126)), 1002},
		{"a Close frame of one byte", frame(finClose, "x"), 1002},
		{"a Close frame with 1005", frame(finClose, "\x03\xed"), 1002},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := startGateway(t, Options{})
			conn := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
			_, s := theOnly(t, g)
			if _, err := conn.Write(c.sent); err != nil {
				t.Fatal(err)
			}
			wantClose(t, c.name, conn, c.code)
			if got := endOf(t, s); got != "signal: terminated" {
				t.Error(got)
			}
		})
	}
}

func TestFragmentsAndControlFramesBetweenThemAreRead(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := attachRaw(t, g, sh("head -c 7")...)
	for _, f := range [][]byte{frame(binary, "ab"), frame(finPing, "1"), frame(0, ""), frame(finPing, ""), frame(0, "cd"), frame(finCont, ""), frame(finBinary, ""), frame(finBinary, "efg")} {
		if _, err := c.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for {
		head, payload, err := readFrame(c)
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%x %q", head, payload))
		if head == finClose {
			_, _ = c.Write(frame(finClose, string(payload)))
		}
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{`8a "1"`, `8a ""`, `81 "{\"type\":\"exit\",\"code\":0}"` + "\n" + `88 "\x03\xe8"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestTheLargestMessageIsTaken(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, sh("wc -c")...)
	c.stdin(strings.Repeat("x", 1<<20))
	c.text(`{"type":"eof"}`)
	c.rest().wantEnd("0")
	if got := strings.TrimSpace(string(c.out[1])); got != strconv.Itoa(1<<20) {
		t.Error(got)
	}
}

func TestAPingIsAnsweredWhileOutputFloods(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := attachRaw(t, g, sh("yes "+strings.Repeat("x", 200)+" | head -c 20000000")...)
	total, pings, pongs := 0, 0, 0
	for n := 0; ; n++ {
		if n%20 == 0 && pings < 10 { // all long before the end, when the rest is in the buffers of the kernel
			pings++
			_, _ = c.Write(frame(finPing, "now"))
		}
		head, payload, err := readFrame(c)
		switch {
		case err != nil:
			t.Fatal(err)
		case head == 0x8a:
			pongs++
			if total >= 20_000_000 {
				t.Error("a pong came behind the flood")
			}
		case head == finBinary:
			total += len(payload) - 1
		}
		if head == finClose {
			break
		}
	}
	if total != 20_000_000 || pongs != pings {
		t.Errorf("%d bytes, %d pongs for %d pings", total, pongs, pings)
	}
}

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
