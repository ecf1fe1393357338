package call

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Message is the request message of a procedure. It marshals to the JSON mapping of
// the protobuf message.
type Message interface {
	// Procedure returns the name of the procedure, such as "process.Process/Start".
	Procedure() string
}

// Text is a message given as JSON.
type Text struct {
	RPC  string
	JSON []byte
}

// Procedure returns t.RPC.
func (t Text) Procedure() string { return t.RPC }

// MarshalJSON returns t.JSON.
func (t Text) MarshalJSON() ([]byte, error) { return t.JSON, nil }

// Encode returns a message in the codec. For JSON that is the text without
// insignificant space, unchecked. For Proto the text is read as the request type of the
// procedure: an unknown procedure or field and a wrong type are errors.
func Encode(m Message, codec string) ([]byte, error) {
	if s, ok := m.(Sorted); ok && codec == Proto {
		m = s.Message // protobuf has its own order
	}
	text, err := Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message of %s: %w", m.Procedure(), err)
	}
	switch codec {
	case JSON:
		return text, nil
	case Proto:
		return protoMessage(m.Procedure(), text)
	}
	return nil, fmt.Errorf("message of %s: no codec %q: want json or proto", m.Procedure(), codec)
}

// Marshal returns v as JSON without white space, with sorted map keys, and without
// escapes for <, > and &.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func protoMessage(rpc string, text []byte) ([]byte, error) {
	method, err := Method(rpc)
	if err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(method.Input())
	if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("message of %s is not a %s: %w", rpc, method.Input().FullName(), err)
	}
	p, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message of %s: %w", rpc, err)
	}
	return p, nil
}

// Decode reads a message in the codec. It ignores fields that m does not have.
func Decode(codec string, p []byte, m proto.Message) error {
	if codec == Proto {
		return proto.Unmarshal(p, m)
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true, Resolver: types}.Unmarshal(p, m)
}

// FromProto returns the JSON of a message encoded as protobuf.
func FromProto(d protoreflect.MessageDescriptor, p []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(d)
	if err := (proto.UnmarshalOptions{Resolver: types}).Unmarshal(p, m); err != nil {
		return nil, fmt.Errorf("not a %s: %w", d.FullName(), err)
	}
	return protojson.MarshalOptions{Resolver: types}.Marshal(m)
}
