package load

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/target"
	"assay/internal/testkit"
)

func TestEveryRequestHasTheseBytesInEveryForm(t *testing.T) {
	tgt, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, way := range [][2]string{
		{ProtocolConnect, CodecJSON}, {ProtocolConnect, CodecProto}, {ProtocolGRPC, CodecJSON}, {ProtocolGRPC, CodecProto},
		{ProtocolWeb, CodecJSON}, {ProtocolWeb, CodecProto}, {ProtocolNDJSON, CodecJSON},
	} {
		fmt.Fprintf(&b, "# %s/%s\n", way[0], way[1])
		d := &Dialect{Protocol: way[0], Codec: way[1], Target: tgt, Command: "cat <&0 >&2", Run: "run1", Part: 2, Stdin: true}
		write := func(name string, r Request, err error) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %s %s\n", name, r.Method, r.Path)
			for _, h := range r.Headers {
				fmt.Fprintf(&b, "  %s: %s\n", h.Name, h.Value)
			}
			fmt.Fprintf(&b, "  %q, none: %t\n", r.Body, r.Body == nil)
		}
		r, err := d.Start()
		write("start", r, err)
		r, err = d.Kill(7)
		write("kill", r, err)
		r, err = d.List()
		write("list", r, err)
		if d.Protocol == ProtocolNDJSON {
			continue // NDJSON has no input
		}
		r, err = d.Input(7, []byte("x\n"))
		write("input", r, err)
		r, err = d.CloseStdin(7)
		write("close-stdin", r, err)
	}
	testkit.Golden(t, "../../testdata/requests/load.txt", b.String(), *update)
}
