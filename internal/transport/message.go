package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"assay/internal/bundle"
	// The generated packages register the services that RPC names are looked up in.
	_ "assay/internal/envd/filesystem"
	_ "assay/internal/envd/probe"
	_ "assay/internal/envd/process"
)

// RequestHead renders the head of an HTTP/1.1 request: request line, headers in
// the given order and spelling, empty line. Nothing is added or checked.
func RequestHead(method, path string, headers []bundle.Header) []byte {
	n := len(method) + len(path) + 16
	for _, h := range headers {
		n += len(h.Name) + len(h.Value) + 4
	}
	b := make([]byte, 0, n)
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\n"...)
	for _, h := range headers {
		b = append(b, h.Name...)
		b = append(b, ": "...)
		b = append(b, h.Value...)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}

// Message turns a request message written as JSON into bytes of the codec. For
// json it is the same text without insignificant space, whatever it says; for
// proto it is read as the RPC's request type ("process.Process/Start"), so that
// an unknown RPC, an unknown field or a wrong type is an error.
func Message(rpc, codec string, text []byte) ([]byte, error) {
	switch codec {
	case "json":
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			return nil, fmt.Errorf("message of %s: %w", rpc, err)
		}
		return b.Bytes(), nil
	case "proto":
		return protoMessage(rpc, text)
	default:
		return nil, fmt.Errorf("message of %s: no codec %q: want json or proto", rpc, codec)
	}
}

func protoMessage(rpc string, text []byte) ([]byte, error) {
	method, err := findMethod(rpc)
	if err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(method.Input())
	if err := protojson.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("message of %s is not a %s: %w", rpc, method.Input().FullName(), err)
	}
	p, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message of %s: %w", rpc, err)
	}
	return p, nil
}

// findMethod finds the method of an RPC name such as "process.Process/Start".
func findMethod(rpc string) (protoreflect.MethodDescriptor, error) {
	service, name, ok := strings.Cut(rpc, "/")
	if !ok {
		return nil, fmt.Errorf("rpc %q is not written as package.Service/Method", rpc)
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, fmt.Errorf("rpc %q: no service %q is known", rpc, service)
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("rpc %q: %q is not a service", rpc, service)
	}
	m := sd.Methods().ByName(protoreflect.Name(name))
	if m == nil {
		return nil, fmt.Errorf("rpc %q: service %s has no method %q", rpc, service, name)
	}
	return m, nil
}

// ShapeOf is the shape of an RPC's answer: stream for every RPC that streams in
// either direction (Start, Connect, WatchDir, and StreamInput, whose single
// message is enveloped too), else unary; also for an RPC that is not known.
func ShapeOf(rpc string) bundle.Shape {
	m, err := findMethod(rpc)
	if err == nil && (m.IsStreamingServer() || m.IsStreamingClient()) {
		return bundle.ShapeStream
	}
	return bundle.ShapeUnary
}

// carriesEvents reports whether the stream answer of an RPC holds process
// events. An answer on a raw connection (no RPC) is taken to.
func carriesEvents(rpc string) bool {
	return rpc == "" || rpc == "process.Process/Start" || rpc == "process.Process/Connect"
}
