package judge

import (
	"encoding/base64"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
	"assay/internal/record/bundle"
)

// messageJSON returns a message of a response as JSON, regardless of its codec. It returns the body
// of a unary error and the messages of an unknown procedure unchanged.
func messageJSON(x *bundle.Exchange, body []byte) ([]byte, error) {
	if x.RPC == "" || x.Codec != call.Proto || x.Shape != bundle.ShapeStream && (x.Error != nil || status(x) != 200) {
		return body, nil
	}
	method, err := call.Method(x.RPC)
	if err != nil {
		return body, nil
	}
	return call.FromProto(method.Output(), body)
}

// debugDiffers describes how the debug form of an error detail differs from its bytes; "" if they
// agree, or if the type is unknown.
func debugDiffers(detail map[string]any) string {
	name, _ := detail["type"].(string)
	text, _ := detail["value"].(string)
	d, ok := call.MessageType(name)
	p, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || !ok {
		return ""
	}
	message, err := call.FromProto(d, p)
	if err != nil {
		return ""
	}
	want, err := value.Decode(message)
	if err != nil {
		return ""
	}
	debug := detail["debug"]
	if object, ok := debug.(map[string]any); ok {
		delete(object, "@type") // present if the detail was written as an Any
	}
	return value.Comparison{Expand: phrase.AsIs}.Equal("", want, debug)
}
