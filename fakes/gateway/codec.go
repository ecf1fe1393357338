package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/fakes/strict"
)

// JSON controls how JSON messages are written and read. The zero value writes
// compact JSON without zero values. It reads as strictly as protojson, except
// that it ignores unknown fields, because a client may be newer than the
// gateway.
type JSON struct {
	// Write holds the options for writing. protojson deliberately varies its
	// white space between builds; Layout removes it.
	Write protojson.MarshalOptions
	// Layout formats a marshalled message; nil means json.Compact.
	Layout func(dst *bytes.Buffer, src []byte) error
	// Read reads a non-empty message; nil reads strictly but ignores unknown
	// fields.
	Read func(data []byte, m proto.Message) error
}

// jsonCodec is a connect-go codec for JSON.
type jsonCodec struct {
	name string
	// usual says that nothing about the writing was chosen: appendEvent may do it.
	usual bool
	JSON
}

var _ connect.Codec = jsonCodec{}

// jsonCodecs returns the codecs for both JSON content types of connect-go.
func jsonCodecs(j JSON) connect.HandlerOption {
	usual := j.Layout == nil && j.Write == protojson.MarshalOptions{}
	if j.Layout == nil {
		j.Layout = json.Compact
	}
	if j.Read == nil {
		j.Read = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal
	}
	return connect.WithHandlerOptions(
		connect.WithCodec(jsonCodec{"json", usual, j}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8", usual, j}),
	)
}

// Name is the codec's name in a content type.
func (c jsonCodec) Name() string { return c.name }

// Marshal writes a protobuf message.
func (c jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", message)
	}
	if c.usual {
		if text, ok := appendEvent(nil, m); ok {
			return text, nil
		}
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
		return fmt.Errorf("%T is not a protobuf message", message)
	}
	if len(data) == 0 {
		return errors.New("zero-length payload is not a valid JSON object")
	}
	return strict.Aside(func() error { return c.Read(data, m) })
}

// smallGzip returns gzip without a window: the state of the usual kind is 650 KB for each stream, whatever the level.
func smallGzip() connect.HandlerOption {
	return connect.WithCompression("gzip", func() connect.Decompressor { return new(gzip.Reader) }, func() connect.Compressor {
		w, _ := gzip.NewWriterLevel(io.Discard, gzip.StatelessCompression) // fails only for a level that does not exist
		return w
	})
}
