package transport_test

import (
	"strings"
	"testing"

	"assay/internal/bundle"
	"assay/internal/envd/process"
	"assay/internal/transport"

	"google.golang.org/protobuf/proto"
)

func TestMessageInBothCodecs(t *testing.T) {
	const text = `{ "process": {"cmd": "/bin/sh", "args": ["-c", "x"]}, "stdin": false }`
	p, err := transport.Message("process.Process/Start", "json", []byte(text))
	if err != nil || string(p) != `{"process":{"cmd":"/bin/sh","args":["-c","x"]},"stdin":false}` {
		t.Errorf("json = %s, %v", p, err)
	}
	p, err = transport.Message("process.Process/Start", "proto", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got process.StartRequest
	if err := proto.Unmarshal(p, &got); err != nil {
		t.Fatal(err)
	}
	if got.GetProcess().GetCmd() != "/bin/sh" || got.Stdin == nil || got.GetStdin() {
		t.Errorf("proto = %v", &got)
	}
}

func TestMessageThatHasNoFormIsAnError(t *testing.T) {
	tests := []struct{ name, rpc, codec, text, want string }{
		{"a service that is not known", "x.Y/Z", "proto", "{}", "no service"},
		{"a method that is not known", "process.Process/Halt", "proto", "{}", "no method"},
		{"a message where a service is named", "process.PTY/x", "proto", "{}", "not a service"},
		{"a name without a method", "process.Process", "proto", "{}", "Service/Method"},
		{"a field that is not known", "process.Process/Start", "proto", `{"x":1}`, "StartRequest"},
		{"text that is no JSON", "process.Process/Start", "json", `{`, "process.Process/Start"},
		{"a codec that is not known", "process.Process/Start", "yaml", `{}`, "yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := transport.Message(tt.rpc, tt.codec, []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestShapeFollowsFromTheRPC(t *testing.T) {
	for rpc, want := range map[string]bundle.Shape{
		"process.Process/Start":          bundle.ShapeStream,
		"process.Process/Connect":        bundle.ShapeStream,
		"process.Process/StreamInput":    bundle.ShapeStream,
		"filesystem.Filesystem/WatchDir": bundle.ShapeStream,
		"process.Process/List":           bundle.ShapeUnary,
		"filesystem.Filesystem/Stat":     bundle.ShapeUnary,
		"some.Other/Thing":               bundle.ShapeUnary,
		"":                               bundle.ShapeUnary,
	} {
		if got := transport.ShapeOf(rpc); got != want {
			t.Errorf("ShapeOf(%q) = %s, want %s", rpc, got, want)
		}
	}
}

func TestRequestHeadKeepsOrderAndSpelling(t *testing.T) {
	got := string(transport.RequestHead("POST", "/a/B", []bundle.Header{{Name: "hOsT", Value: "x"}, {Name: "a", Value: ""}, {Name: "hOsT", Value: "y"}}))
	if want := "POST /a/B HTTP/1.1\r\nhOsT: x\r\na: \r\nhOsT: y\r\n\r\n"; got != want {
		t.Errorf("head = %q, want %q", got, want)
	}
}
