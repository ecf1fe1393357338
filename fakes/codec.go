package fakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonStyle is how JSON messages are written. The zero value is compact and
// leaves zero values out.
type jsonStyle struct {
	zeros  bool // fields with a zero value are written
	indent bool // over several lines
	// badBytesEmpty reads input that is not base64 as empty.
	badBytesEmpty bool
}

// jsonCodec is the JSON codec with a style. Reading does not depend on it:
// unknown fields are ignored, as clients are not all of one age.
type jsonCodec struct {
	name  string
	style jsonStyle
}

var _ connect.Codec = jsonCodec{}

// jsonCodecs are the codecs of both content types that connect-go knows.
func jsonCodecs(style jsonStyle) connect.HandlerOption {
	return connect.WithHandlerOptions(
		connect.WithCodec(jsonCodec{"json", style}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8", style}),
	)
}

// Name is the codec's name in a content type.
func (c jsonCodec) Name() string { return c.name }

// Marshal writes a protobuf message. protojson varies its white space from
// build to build on purpose; here it is always the same.
func (c jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", message)
	}
	raw, err := protojson.MarshalOptions{EmitDefaultValues: c.style.zeros}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if c.style.indent {
		err = json.Indent(&buf, raw, "", "  ")
	} else {
		err = json.Compact(&buf, raw)
	}
	return buf.Bytes(), err
}

// Unmarshal reads one JSON object.
func (c jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no protobuf message", message)
	}
	if len(data) == 0 {
		return errors.New("zero-length payload is not a valid JSON object")
	}
	read := protojson.UnmarshalOptions{DiscardUnknown: true}
	err := read.Unmarshal(data, m)
	if err != nil && c.style.badBytesEmpty {
		proto.Reset(m)
		return read.Unmarshal(inputText.ReplaceAll(data, []byte(`"$1":""`)), m)
	}
	return err
}

// inputText is a field of input in JSON.
var inputText = regexp.MustCompile(`"(stdin|pty)"\s*:\s*"[^"]*"`)
