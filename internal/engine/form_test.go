package engine

import (
	"testing"

	"assay/internal/bundle"
)

func TestADeadlineIsSentInTheUnitsOfTheProtocol(t *testing.T) {
	for name, tc := range map[string]struct {
		protocol    string
		ms          int64
		field, want string
	}{
		"Connect has milliseconds":                {protocolConnect, 5000, "Connect-Timeout-Ms", "5000"},
		"gRPC has them with their unit":           {protocolGRPC, 5000, "Grpc-Timeout", "5000m"},
		"so has gRPC-Web":                         {protocolGRPCWeb, 1, "Grpc-Timeout", "1m"},
		"zero is sent as it is":                   {protocolGRPC, 0, "Grpc-Timeout", "0m"},
		"eight digits are the most":               {protocolGRPC, 99_999_999, "Grpc-Timeout", "99999999m"},
		"nine become seconds, rounded up":         {protocolGRPC, 100_000_001, "Grpc-Timeout", "100001S"},
		"seconds become minutes":                  {protocolGRPC, 100_000_000_000, "Grpc-Timeout", "1666667M"},
		"minutes become hours":                    {protocolGRPC, 60_000 * 100_000_000, "Grpc-Timeout", "1666667H"},
		"and what is longer the longest of hours": {protocolGRPC, 1 << 62, "Grpc-Timeout", "99999999H"},
	} {
		t.Run(name, func(t *testing.T) {
			f := form{Protocol: tc.protocol}
			if got := f.timeout(tc.ms); f.timeoutField() != tc.field || got != tc.want {
				t.Errorf("got %s: %s, want %s: %s", f.timeoutField(), got, tc.field, tc.want)
			}
		})
	}
}

func TestTheContentTypeNamesProtocolAndCodec(t *testing.T) {
	for want, tc := range map[string]struct {
		protocol, codec string
		shape           bundle.Shape
	}{
		"application/json":           {protocolConnect, codecJSON, bundle.ShapeUnary},
		"application/connect+proto":  {protocolConnect, codecProto, bundle.ShapeStream},
		"application/grpc+proto":     {protocolGRPC, codecProto, bundle.ShapeUnary},
		"application/grpc+json":      {protocolGRPC, codecJSON, bundle.ShapeStream},
		"application/grpc-web+proto": {protocolGRPCWeb, codecProto, bundle.ShapeStream},
	} {
		f := form{Protocol: tc.protocol, Codec: tc.codec}
		if got := f.contentType(tc.shape); got != want {
			t.Errorf("%s, %s, %s: got %s, want %s", tc.protocol, tc.codec, tc.shape, got, want)
		}
	}
}

func TestMessagesAreEnvelopedAndCompressedAsTheFormSays(t *testing.T) {
	const json = `{"process":{"pid":5}}`
	packed := string(gzipped([]byte(json)))
	for name, tc := range map[string]struct {
		form form
		rpc  string
		want string
	}{
		"unary Connect":         {form{Protocol: protocolConnect, Codec: codecJSON}, rpcCloseStdin, json},
		"stream of Connect":     {form{Protocol: protocolConnect, Codec: codecJSON}, rpcConnect, "\x00\x00\x00\x00\x15" + json},
		"unary gRPC":            {form{Protocol: protocolGRPC, Codec: codecProto}, rpcCloseStdin, "\x00\x00\x00\x00\x04\x0a\x02\x08\x05"},
		"unary gRPC-Web":        {form{Protocol: protocolGRPCWeb, Codec: codecJSON}, rpcCloseStdin, "\x00\x00\x00\x00\x15" + json},
		"compressed unary":      {form{Protocol: protocolConnect, Codec: codecJSON, Compression: compressionGzip}, rpcCloseStdin, packed},
		"compressed unary gRPC": {form{Protocol: protocolGRPC, Codec: codecJSON, Compression: compressionGzip}, rpcCloseStdin, "\x01\x00\x00\x00" + string(rune(len(packed))) + packed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.form.message(tc.rpc, []byte(json))
			if err != nil || string(got) != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
		})
	}
	if _, err := (form{Codec: codecProto}).message(rpcConnect, []byte(`{"no":1}`)); err == nil {
		t.Error("a field that the message does not have is no error")
	}
}
