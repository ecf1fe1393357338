package zoo

import (
	"strings"
	"testing"

	"assay/internal/wire"
)

const exit0 = `text:{"type":"exit","code":0} | close 1000`

func TestFaultsInTheFramesOfTheServerShowOnTheWire(t *testing.T) {
	t.Parallel()
	showFaults(t, []chat{
		{fault: "stdio-frames-masked", query: script("echo a"), want: `masked out:a` + "\n" + ` | masked text:{"type":"exit","code":0} | masked close 1000`, right: "out:a\n | " + exit0},
		{fault: "stdio-reserved-bit", query: script("echo a"), want: "rsv out:a\n | " + exit0, right: "out:a\n | " + exit0},
		{fault: "stdio-length-long", query: script("echo a"), want: "long out:a\n | long " + exit0, right: "out:a\n | " + exit0},
		{fault: "stdio-pong-long", query: script("echo a"), want: "pong:" + strings.Repeat("p", 126) + " | out:a\n | " + exit0, right: "out:a\n | " + exit0},
		{fault: "stdio-ping-fragmented", query: script("echo a"), want: "more ping:p | out:a\n | " + exit0, right: "out:a\n | " + exit0},
		{fault: "stdio-fragment-stray", query: script("echo a"), want: "out:a\n | continuation: | " + exit0, right: "out:a\n | " + exit0},
		{fault: "stdio-frame-cut", query: script("exit 3"), want: `text:{"type":"exit","code":3} | cut after 1 of 2`, right: `text:{"type":"exit","code":3} | close 1000`},
		{fault: "stdio-frame-cut", query: script("exit 0"), want: exit0, right: exit0},
		{fault: "stdio-text-not-utf-8", query: script("read x"), say: []string{control("{}"), "await error", input("\n")}, want: "*\"message\":\"\xabnot*", right: "*\"message\":\"not*"},
		{fault: "stdio-ping-unanswered", query: script("read x"), say: []string{ping("p"), input("\n")}, want: "text:{\"type\":\"exit\",\"code\":0} | close 1000", right: "pong:p | " + exit0},
		{fault: "stdio-pong-empty", query: script("read x"), say: []string{ping("p"), "await pong", input("\n")}, want: "pong: | " + exit0, right: "pong:p | " + exit0},
		{fault: "stdio-pong-starved", query: script("read x"), say: []string{ping("p"), "await pong:p", input("\n")}, want: "pong:p | " + exit0, right: "pong:p | " + exit0},
	})
}

func TestFaultStdioPongStarvedStarvesUnderOutput(t *testing.T) {
	t.Parallel()
	pong := starvedPong()
	passed := 0
	pass := func(f wsFrame) { passed++ }
	pong(serverFrame(wire.WSPong, "early"), pass)
	for range 5 {
		pong(serverFrame(wire.WSBinary, strings.Repeat("x", 1<<10)), pass)
	}
	pong(serverFrame(wire.WSPong, "late"), pass)
	if passed != 6 {
		t.Errorf("%d of 7 frames passed, want all but the last", passed)
	}
}

func TestFaultsInCheckingTheClientShowOnTheWire(t *testing.T) {
	t.Parallel()
	cat := script("cat")
	failed := "*close 1002*"
	showFaults(t, []chat{
		{fault: "stdio-unmasked-accepted", query: cat, say: []string{string(wire.AppendWSServer(nil, wire.WSBinary, []byte("a\n"))), eof}, want: "out:a\n | " + exit0, right: failed},
		{fault: "stdio-reserved-accepted", query: cat, say: []string{masked(wire.WSHead{FIN: true, RSV: 1, Opcode: wire.WSBinary}, "a\n"), masked(wire.WSHead{FIN: true, Opcode: 3}, "b\n"), eof}, want: "out:a\n | " + exit0, right: failed},
		{fault: "stdio-control-unchecked", query: cat, say: []string{ping(strings.Repeat("p", 126)), "await pong", eof}, want: "pong:" + strings.Repeat("p", 125) + " | " + exit0, right: failed},
		{fault: "stdio-control-unchecked", query: cat, say: []string{part(wire.WSPing, "p"), "await pong", eof}, want: "pong:p | " + exit0, right: failed},
		{fault: "stdio-sequence-unchecked", query: cat, say: []string{part(wire.WSContinuation, "a"), input("b\n"), eof}, want: "out:ab\n | " + exit0, right: failed},
		{fault: "stdio-utf-8-unchecked", query: cat, say: []string{control("\xff"), "await error", eof}, want: "*" + exit0 + "*", right: "*close 1007*"},
		{fault: "stdio-too-big-cut", query: script("wc -c"), say: []string{input(strings.Repeat("x", 1<<20+1)), eof}, want: "out:1048576\n | " + exit0, right: "*close 1009*"},
		{fault: "stdio-fragments-dropped", query: cat, say: []string{part(wire.WSBinary, "a"), ping("p"), masked(wire.WSHead{FIN: true}, "b\n"), "await out:", eof}, want: "pong:p | out:b\n | " + exit0, right: "pong:p | out:ab\n | " + exit0},
		{fault: "stdio-pong-refused", query: cat, say: []string{masked(wire.WSHead{FIN: true, Opcode: wire.WSPong}, "x"), eof}, want: failed, right: exit0},
		{fault: "stdio-invalid-close-ignored", query: cat, say: []string{closing(1005), eof}, want: exit0, right: failed},
		{fault: "stdio-close-unanswered", query: cat, say: []string{closing(1000)}, want: "", right: "close 1000"},
	})
}

func TestFaultsOfTheCloseShowOnTheWire(t *testing.T) {
	t.Parallel()
	exit3 := `text:{"type":"exit","code":3}`
	showFaults(t, []chat{
		{fault: "stdio-close-without-code", query: script(""), want: strings.Replace(exit0, "1000", "0", 1), right: exit0},
		{fault: "stdio-close-missing", query: script(""), want: strings.TrimSuffix(exit0, " | close 1000"), right: exit0},
		{fault: "stdio-close-1011", query: script("exit 3"), want: exit3 + " | close 1011", right: exit3 + " | close 1000"},
		{fault: "stdio-close-1011", query: script(""), want: exit0, right: exit0},
		{fault: "stdio-close-1006", query: script("exit 3"), want: exit3 + " | close 1006", right: exit3 + " | close 1000"},
		{fault: "stdio-data-after-close", query: script(""), want: exit0 + ` | text:{"type":"error","message":"the session is closed"}`, right: exit0},
	})
}

func TestVariantsInTheFramesShowOnTheWire(t *testing.T) {
	t.Parallel()
	for variant, want := range map[string]string{
		"stdio-fragments":         "more binary:\x01 | ping: | continuation:up\n | more text:{ | ping: | continuation:\"type\":\"exit\",\"code\":0} | close 1000",
		"stdio-pongs":             "pong:alive | out:up\n | pong:alive | text:{\"type\":\"exit\",\"code\":0} | close 1000",
		"stdio-close-reason":      "out:up\n | " + exit0 + "the session has ended – au revoir",
		"stdio-one-byte-messages": "out:up\n | " + exit0,
		"stdio-large-messages":    "out:up\n | " + exit0,
		"stdio-head-with-frames":  "out:up\n | " + exit0,
	} {
		c := attach(t, startGateway(t, Options{Variants: []string{variant}}), script("echo up"))
		if got := c.rest(); got != want {
			t.Errorf("%s: %q, want %q", variant, got, want)
		}
	}
	c := attach(t, startGateway(t, Options{Variants: []string{"stdio-pings"}}), script("read x"))
	c.until("ping:beat | ping:beat")
	c.send(input("\n"))
	if got := c.rest(); strings.ReplaceAll(got, "ping:beat | ", "") != exit0 { // a ping may come anywhere
		t.Errorf("%q", got)
	}
	dropped := chat{query: script("cat"), say: []string{part(wire.WSContinuation, "")}}
	if got := dropped.play(t, startGateway(t, Options{Variants: []string{"stdio-drops-offenders"}})); got != "" {
		t.Errorf("an offender gets %q", got)
	}
}
