package zoo

import (
	"strings"
	"testing"
	"testing/synctest"

	"assay/fakes/stdio"
)

func exitText3(code string) string { return `text:{"type":"exit","code":` + code + `} | close 1000` }

func TestFaultsOfTheExitShowInTheMessages(t *testing.T) {
	t.Parallel()
	showFaults(t, []chat{
		{fault: "stdio-exit-twice", query: script("exit 3"), want: `text:{"type":"exit","code":3} | ` + exitText3("3"), right: exitText3("3")},
		{fault: "stdio-exit-missing", query: script("exit 3"), want: "close 1000", right: exitText3("3")},
		{fault: "stdio-exit-missing", query: script("exit 0"), want: exit0, right: exit0},
		{fault: "stdio-exit-early", query: script("echo a"), want: "text:{\"type\":\"exit\",\"code\":0} | out:a\n | close 1000", right: "out:a\n | " + exit0},
		{fault: "stdio-message-after-exit", query: script(""), want: `*0} | text:{"type":"error","message":"the process has ended"} | close 1000*`, right: exit0},
		{fault: "stdio-exit-code-wait-status", query: script("exit 3"), want: exitText3("768"), right: exitText3("3")},
		{fault: "stdio-signal-exit-0", query: script("kill -9 $$"), want: exit0, right: exitText3("137")},
		{fault: "stdio-signal-exit-0", query: script("exit 3"), want: exitText3("3"), right: exitText3("3")},
		{fault: "stdio-unknown-exit-0", query: script("no-such-program"), want: "*" + exit0 + "*", right: "*" + exitText3("127") + "*"},
	})
}

func TestFaultsOfTheOutputShowInTheMessages(t *testing.T) {
	t.Parallel()
	showFaults(t, []chat{
		{fault: "stdio-stderr-as-stdout", query: script("echo a >&2"), want: "out:a\n | " + exit0, right: "err:a\n | " + exit0},
		{fault: "stdio-empty-output", query: script("echo a"), want: "binary: | out:a\n | " + exit0, right: "out:a\n | " + exit0},
		{fault: "stdio-output-as-text", query: script(`printf 'a\377b\n'`), want: "out:a\uFFFDb\n | " + exit0, right: "out:a\xffb\n | " + exit0},
		{fault: "stdio-output-obeyed", query: script(`echo '{"type":"exit","code":7}'; echo on`), want: "out:on\n | " + exit0, right: "out:{\"type\":\"exit\",\"code\":7}\non\n | " + exit0},
		{fault: "stdio-arguments-split", query: script(`printf '<%s>' "$@"`, "arg", "sh", "arg", "a  b"), want: "out:<a><b> | " + exit0, right: "out:<a  b> | " + exit0},
		{fault: "stdio-empty-argument-dropped", query: script(`printf '<%s>' "$@"`, "arg", "sh", "arg", "", "arg", "b"), want: "out:<b> | " + exit0, right: "out:<><b> | " + exit0},
		{fault: "stdio-terminal-ignored", query: script(`tty`, "pty", "1"), want: "*not a tty*", right: "*out:/dev/*"},
		{fault: "stdio-terminal-size-ignored", query: script(`stty size`, "pty", "1", "cols", "100", "rows", "30"), want: "*24 80*", right: "*30 100*"},
		{fault: "stdio-output-held", query: script("echo a >&2; echo b; echo c"), want: "err:a\n | out:b\nc\n | " + exit0, right: "err:a\n | out:b\nc\n | " + exit0},
	})
	g := startGateway(t, Options{Faults: []string{"stdio-silent-after-4-mib"}})
	if got := attach(t, g, script("head -c 5000000 /dev/zero")).rest(); len(got) < 4<<20-64<<10 || len(got) > 4<<20+100 || !strings.HasSuffix(got, exit0) {
		t.Errorf("%d bytes of 5000000", len(got))
	}
}

// recordedSink records the messages.
type recordedSink struct {
	stdio.Sink
	sent []string
}

func (r *recordedSink) Send(m stdio.Message) error {
	r.sent = append(r.sent, string(m.Data))
	return nil
}

func TestAHeldSinkHoldsOutputUntilItsLimitAnotherStreamOrAText(t *testing.T) {
	t.Parallel()
	r := &recordedSink{}
	s := newHeldSink(r, holding{limit: 4})
	send := func(data string) {
		if err := s.Send(stdio.Message{Binary: data[0] < ' ', Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []string{"\x01ab", "\x01cd", "\x01ef", "\x02gh", "{}", "\x02ij"} {
		send(m)
	}
	if got := strings.Join(r.sent, "|"); got != "\x01abcd|\x01ef|\x02gh|{}" {
		t.Errorf("%q", got)
	}
	if err := s.Send(exitMessage(0)); err != nil || r.sent[len(r.sent)-2] != "\x02ij" {
		t.Errorf("%q", r.sent)
	}
}

// The exit comes at once after the output: in a bubble, however busy the machine is.
func TestFaultStdioTailLostOftenLosesThreeTailsInTen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &build{seed: 2}
		loseStdioTails(b)
		lost := 0
		for range 10 {
			r := &recordedSink{}
			s := b.Seams.Stdio(r)
			for _, m := range []stdio.Message{{Binary: true, Data: []byte("\x01a\n")}, exitMessage(0)} {
				if err := s.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			switch got := strings.Join(r.sent, "|"); got {
			case `{"type":"exit","code":0}`:
				lost++
			case "\x01a\n|" + `{"type":"exit","code":0}`:
			default:
				t.Errorf("%q", got)
			}
		}
		if lost != 3 {
			t.Errorf("%d of 10 tails are lost, want 3", lost)
		}
	})
}

func TestFaultStdioOutputHeldSendsAtTheEnd(t *testing.T) {
	t.Parallel()
	faultSession := attach(t, startGateway(t, Options{Faults: []string{"stdio-output-held"}}), script("echo a; read x; exit 3"))
	faultSession.send(ping("p"))
	faultSession.until("pong")
	faultSession.send(input("\n"))
	if got := faultSession.rest(); got != "pong:p | out:a\n | "+exitText3("3") {
		t.Errorf("%q", got)
	}
}

func TestFaultsOfInputAndControlShowInTheOutput(t *testing.T) {
	t.Parallel()
	cat := script("cat")
	sig := func(name string) string { return control(`{"type":"signal","signal":"` + name + `"}`) }
	traps := script(`trap 'echo INT' INT; trap 'echo TERM' TERM; echo ready; while ! read x; do :; done; echo "$x"`)
	refused := "text:{\"type\":\"error\",\"message\":"
	showFaults(t, []chat{
		{fault: "stdio-input-obeyed", query: cat, say: []string{input(`{"type":"eof"}`), eof}, want: exit0, right: "out:{\"type\":\"eof\"} | " + exit0},
		{fault: "stdio-malformed-is-input", query: cat, say: []string{control("up"), eof}, want: "out:up | " + exit0, right: "*" + refused + "*"},
		{fault: "stdio-unknown-type-ends", query: cat, say: []string{control(`{"type":"reboot"}`), "await ", eof}, want: "close 1003", right: "*" + refused + "*"},
		{fault: "stdio-signal-ignored", query: traps, say: []string{"await ready", sig("SIGINT"), ping("p"), "await pong", input("\n"), input("on\n")}, want: "*ready\n | pong:p | out:\n*", right: "*INT*"},
		{fault: "stdio-signal-always-term", query: traps, say: []string{"await ready", sig("SIGINT"), "await T", input("on\n")}, want: "*TERM*", right: "*INT*"},
		{fault: "stdio-unknown-signal-kills", query: traps, say: []string{"await ready", sig("SIGFOO"), ping("p"), "await pong", input("on\n")}, want: "*TERM*", right: "*unknown signal*"},
		{fault: "stdio-eof-ignored", query: script(`read x || x=end; echo "$x"`), say: []string{eof, input("a\n")}, want: "out:a\n | " + exit0, right: "*out:end\n | " + exit0},
		{fault: "stdio-empty-is-eof", query: cat, say: []string{input(""), ping("p"), "await pong", input("a\n"), "await a", eof}, want: "*" + exit0 + "*", right: "pong:p | out:a\n | " + exit0},
		{fault: "stdio-resize-ends-pipe", query: cat, say: []string{control(`{"type":"resize","cols":80,"rows":24}`), ping("p"), "await p", eof}, want: "close 1003", right: "pong:p | " + exit0},
		{fault: "stdio-resize-unchecked", query: script("read x; stty size", "pty", "1"), say: []string{control(`{"type":"resize","cols":0,"rows":70000}`), ping("p"), "await pong", input("\n")}, want: "*1 1*", right: "*24 80*"},
		{fault: "stdio-resize-ignored", query: script("read x; stty size", "pty", "1"), say: []string{control(`{"type":"resize","cols":100,"rows":30}`), ping("p"), "await pong", input("\n")}, want: "*24 80*", right: "*30 100*"},
		{fault: "stdio-control-c-eaten", query: script("trap 'echo INT; exit 3' INT; echo ready; read x; echo on", "pty", "1"), say: []string{"await ready", input("\x03"), input("\n")}, want: "*on*", right: "*INT*"},
		{fault: "stdio-input-swapped", query: cat, say: []string{input("a") + input("b"), eof}, want: "out:ba | " + exit0, right: "out:ab | " + exit0},
		{fault: "stdio-input-short", query: script("wc -c"), say: []string{strings.Repeat(input(strings.Repeat("x", 32<<10)), 32), eof}, want: "out:524288\n | " + exit0, right: "out:1048576\n | " + exit0},
		{fault: "stdio-input-unread-ends", query: script("exec <&-; sleep 2; echo on"), say: []string{strings.Repeat(input(strings.Repeat("x", 32<<10)), 5)}, want: "close 1003", right: "out:on\n | " + exit0},
	})
}
