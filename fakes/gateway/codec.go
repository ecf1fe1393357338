package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSON is how messages in JSON are written and read. The zero value writes
// compact JSON without zero values, and reads it as strictly as protojson, but
// ignores unknown fields: clients are not all of one age.
type JSON struct {
	// Write are the options for writing. protojson varies its white space from
	// build to build on purpose, and Layout removes that.
	Write protojson.MarshalOptions
	// Layout writes a message that was marshalled; nil is json.Compact.
	Layout func(dst *bytes.Buffer, src []byte) error
	// Read reads a message that is not empty; nil ignores unknown fields.
	Read func(data []byte, m proto.Message) error
}

// jsonCodec is a codec of connect-go for JSON.
type jsonCodec struct {
	name string
	JSON
}

var _ connect.Codec = jsonCodec{}

// jsonCodecs are the codecs of both content types that connect-go knows.
func jsonCodecs(j JSON) connect.HandlerOption {
	if j.Layout == nil {
		j.Layout = json.Compact
	}
	if j.Read == nil {
		j.Read = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal
	}
	return connect.WithHandlerOptions(
		connect.WithCodec(jsonCodec{"json", j}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8", j}),
	)
}

// Name is the codec's name in a content type.
func (c jsonCodec) Name() string { return c.name }

// Marshal writes a protobuf message.
func (c jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", message)
	}
	raw, err := c.Write.Marshal(m)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	err = c.Layout(&buf, raw)
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
	return c.Read(data, m)
}
