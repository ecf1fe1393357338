package load

import (
	"cmp"
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
		{ProtocolWS, CodecJSON},
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
		if d.Protocol == ProtocolNDJSON || d.Protocol == ProtocolWS {
			continue // NDJSON has no input, and that of a WebSocket goes over itself
		}
		r, err = d.Input(7, []byte("x\n"))
		write("input", r, err)
		r, err = d.CloseStdin(7)
		write("close-stdin", r, err)
	}
	testkit.Golden(t, "../../testdata/requests/load.txt", b.String(), *update)
}

// Over WebSocket the mark is in the command, and other processes are left alone.
func TestTheProcessesOfWebSocketsAreListed(t *testing.T) {
	list := []byte(`{"processes":[
		{"pid":1,"config":{"cmd":"/bin/sh","args":["-c",": ASSAY_RUN=run1/load.2; seq 3"]}},
		{"pid":2,"config":{"cmd":"/bin/sh","args":["-c",": ASSAY_RUN=run1/load.3; seq 3"]}},
		{"pid":3,"config":{"cmd":"/bin/sh","args":["-c","seq 3"],"envs":{"ASSAY_RUN":"run1/load.2"}}},
		{"pid":4,"config":{"cmd":"/bin/sh"}}]}`)
	for part, want := range map[int]string{2: "[1]", 3: "[2]"} {
		d := &Dialect{Protocol: ProtocolWS, Codec: CodecJSON, Command: "seq 3", Run: "run1", Part: part}
		got, err := d.Listed(list)
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("part %d: %v, %v, want %s", part, got, err, want)
		}
	}
}

func TestNDJSONReplies(t *testing.T) {
	d := Dialect{Protocol: ProtocolNDJSON}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{200, `{"killed":true}`, ""},
		{202, "", ""},
		{204, "", ""},
		{404, "", ErrGone.Error()},
		{404, "no such command", ErrGone.Error()},
		{404, `{"error":"no such command"}`, ErrGone.Error()},
		{404, `{"code":"unimplemented"}`, "HTTP 404, unimplemented: "},
		{500, "", "HTTP 500"},
	} {
		_, err := d.Reply(&Answer{Status: c.status, Body: []byte(c.body)})
		if got := fmt.Sprint(err); got != cmp.Or(c.want, "<nil>") {
			t.Errorf("%d %s: %s, want %q", c.status, c.body, got, c.want)
		}
	}
	for _, name := range []string{"application/x-ndjson", "text/plain; charset=utf-8", "application/vnd.x+ndjson"} {
		if !d.StreamType(name) {
			t.Errorf("%s is no type of a stream", name)
		}
	}
	if d.StreamType("text/html") {
		t.Error("text/html is a type of a stream")
	}
}
