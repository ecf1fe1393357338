package zoo

import (
	"fmt"
	"testing"

	"assay/internal/wire"
)

func TestStdioFaultsAndVariantsCanBeCombined(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{
		Faults:   []string{"stdio-reserved-bit", "stdio-close-1011", "stdio-exit-code-wait-status", "stdio-frames-masked"},
		Variants: []string{"stdio-pongs", "one-byte-writes", "stdio-head-with-frames"},
	})
	want := "pong:alive | masked rsv out:a\n | pong:alive | masked text:" + fmt.Sprintf(`{"type":"exit","code":%d}`, 3<<8) + " | masked close 1011"
	if got := attach(t, g, script("echo a; exit 3")).rest(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAFrameTooLongForAStagePassesAsItIs(t *testing.T) {
	t.Parallel()
	var c wsCutter
	head := wire.AppendWSHead(nil, wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 40})
	c.add([]byte(input("a")))
	c.add(append(head, "begin"...))
	f, whole := c.next()
	if _, more := c.next(); !whole || string(f.payload) != "a" || more || string(c.rest()) != string(head)+"begin" {
		t.Errorf("%q %v %v", f.payload, whole, more)
	}
	c.add([]byte("more"))
	if _, whole := c.next(); whole || string(c.rest()) != "more" {
		t.Error("the rest is not passed on")
	}
}
