package zoo

import (
	"strings"
	"testing"

	"assay/internal/wire"
)

const exit0 = `text:{"type":"exit","code":0} | close 1000`

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
	c = attach(t, startGateway(t, Options{Variants: []string{"stdio-drops-offenders"}}), script("cat"))
	c.send(part(wire.WSContinuation, ""))
	if got := c.rest(); got != "" {
		t.Errorf("an offender gets %q", got)
	}
}
