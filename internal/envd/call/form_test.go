package call

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestADeadlineIsSentInTheUnitsOfTheProtocol(t *testing.T) {
	for name, tc := range map[string]struct {
		protocol    string
		ms          int64
		field, want string
	}{
		"Connect has milliseconds":                         {Connect, 5000, "Connect-Timeout-Ms", "5000"},
		"gRPC has milliseconds with a unit":                {GRPC, 5000, "Grpc-Timeout", "5000m"},
		"gRPC-Web has milliseconds with a unit":            {GRPCWeb, 1, "Grpc-Timeout", "1m"},
		"zero is sent as zero":                             {GRPC, 0, "Grpc-Timeout", "0m"},
		"eight digits are the maximum":                     {GRPC, 99_999_999, "Grpc-Timeout", "99999999m"},
		"nine digits become seconds, rounded up":           {GRPC, 100_000_001, "Grpc-Timeout", "100001S"},
		"seconds become minutes":                           {GRPC, 100_000_000_000, "Grpc-Timeout", "1666667M"},
		"minutes become hours":                             {GRPC, 60_000 * 100_000_000, "Grpc-Timeout", "1666667H"},
		"longer deadlines become the longest one in hours": {GRPC, 1 << 62, "Grpc-Timeout", "99999999H"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Form{Protocol: tc.protocol}).Timeout(tc.ms); got.Name != tc.field || got.Value != tc.want {
				t.Errorf("got %s: %s, want %s: %s", got.Name, got.Value, tc.field, tc.want)
			}
		})
	}
}

func TestTheContentTypeNamesProtocolAndCodec(t *testing.T) {
	for want, tc := range map[string]struct{ protocol, codec, rpc string }{
		"application/json":           {Connect, JSON, ProcessList},
		"application/connect+proto":  {Connect, Proto, ProcessStart},
		"application/grpc+proto":     {GRPC, Proto, ProcessList},
		"application/grpc+json":      {GRPC, JSON, ProcessStart},
		"application/grpc-web+proto": {GRPCWeb, Proto, ProcessStart},
	} {
		f := Form{Protocol: tc.protocol, Codec: tc.codec}
		if got := f.ContentType(tc.rpc); got != want {
			t.Errorf("%s, %s, %s: got %s, want %s", tc.protocol, tc.codec, tc.rpc, got, want)
		}
	}
}

func TestAnAnswerIsAcceptedInTheFormOfItsRequest(t *testing.T) {
	for _, tc := range []struct {
		protocol, codec, rpc, kind string
		want                       bool
	}{
		{Connect, JSON, ProcessStart, "Application/Connect+JSON; charset=utf-8", true},
		{Connect, JSON, ProcessStart, "application/json", false},
		{Connect, JSON, ProcessList, "application/json", true},
		{Connect, Proto, ProcessList, "application/json", false},
		{GRPC, Proto, ProcessStart, "application/grpc", true},
		{GRPC, JSON, ProcessStart, "application/grpc", false},
		{GRPCWeb, Proto, ProcessList, "application/grpc", false},
		{GRPCWeb, Proto, ProcessList, "application/grpc-web", true},
		{GRPCWeb, JSON, ProcessList, "application/grpc-web+json", true},
		{Connect, Proto, ProcessList, "", false},
	} {
		f := Form{Protocol: tc.protocol, Codec: tc.codec}
		if got := f.Accepts(tc.rpc, tc.kind); got != tc.want {
			t.Errorf("%s, %s, %s: %q is accepted: %t", tc.protocol, tc.codec, tc.rpc, tc.kind, got)
		}
	}
}

func TestABodyIsEnvelopedAndCompressedAsTheFormSays(t *testing.T) {
	const text = `{"process":{"pid":5}}`
	packed := string(Compress([]byte(text)))
	unary, stream := CloseStdin{ByPID(5)}, Attach{ByPID(5)}
	for name, tc := range map[string]struct {
		form    Form
		message Message
		want    string
	}{
		"unary Connect":         {Form{Protocol: Connect, Codec: JSON}, unary, text},
		"stream of Connect":     {Form{Protocol: Connect, Codec: JSON}, stream, "\x00\x00\x00\x00\x15" + text},
		"unary gRPC":            {Form{Protocol: GRPC, Codec: Proto}, unary, "\x00\x00\x00\x00\x04\x0a\x02\x08\x05"},
		"unary gRPC-Web":        {Form{Protocol: GRPCWeb, Codec: JSON}, unary, "\x00\x00\x00\x00\x15" + text},
		"compressed unary":      {Form{Protocol: Connect, Codec: JSON, Compression: Gzip}, unary, packed},
		"compressed unary gRPC": {Form{Protocol: GRPC, Codec: JSON, Compression: Gzip}, unary, "\x01\x00\x00\x00" + string(rune(len(packed))) + packed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.form.Body(tc.message)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
		})
	}
}

func TestAMessageIsEncodedInBothCodecs(t *testing.T) {
	const text = `{ "process": {"cmd": "/bin/sh", "args": ["-c", "<"]}, "stdin": false }`
	for codec, want := range map[string]string{
		JSON:  `{"process":{"cmd":"/bin/sh","args":["-c","<"]},"stdin":false}`,
		Proto: "\n\x10\n\x07/bin/sh\x12\x02-c\x12\x01<\x20\x00",
	} {
		if p, err := Encode(Text{ProcessStart, []byte(text)}, codec); err != nil || string(p) != want {
			t.Errorf("%s = %q, %v", codec, p, err)
		}
	}
}

func TestAMessageThatHasNoFormIsAnError(t *testing.T) {
	for _, tt := range []struct{ name, rpc, codec, text, want string }{
		{"an unknown service", "x.Y/Z", Proto, "{}", "no service"},
		{"an unknown method", "process.Process/Halt", Proto, "{}", "no method"},
		{"a message in place of a service", "process.PTY/x", Proto, "{}", "not a service"},
		{"a name without a method", "process.Process", Proto, "{}", "Service/Method"},
		{"an unknown field", ProcessStart, Proto, `{"x":1}`, "StartRequest"},
		{"text that is not JSON", ProcessStart, JSON, `{`, ProcessStart},
		{"an unknown codec", ProcessStart, "yaml", `{}`, "yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Encode(Text{tt.rpc, []byte(tt.text)}, tt.codec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestASortedMessageIsTheSameMessage(t *testing.T) {
	for want, m := range map[string]Message{
		`{"process":{"args":["\u003c"],"cmd":"sh"},"stdin":false}`: Start{Process: Config{Cmd: "sh", Args: []string{"<"}}, Stdin: new(false)},
		`{"input":{"stdin":"eA=="},"process":{"pid":7}}`:           Write(ByPID(7), []byte("x")),
	} {
		if got, err := json.Marshal(Sorted{m}); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
		plain, _ := Encode(m, Proto)
		if sorted, err := Encode(Sorted{m}, Proto); err != nil || string(sorted) != string(plain) {
			t.Errorf("got %q, %v; want %q", sorted, err, plain)
		}
	}
}
