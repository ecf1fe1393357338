package judge

import (
	"encoding/base64"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"assay/internal/bundle"
	// The generated packages register the types that names are looked up by.
	_ "assay/internal/envd/probe"
)

// messageJSON is the message of a unary answer as JSON, whatever codec it came in.
// What is no message of a known procedure is returned as it is.
func messageJSON(x *bundle.Exchange, body []byte) ([]byte, error) {
	if x.RPC == "" || x.Codec != "proto" || x.Error != nil || status(x) != 200 {
		return body, nil
	}
	service, method, _ := strings.Cut(x.RPC, "/")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return body, nil // a procedure that is not known: its body is what it is
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok || sd.Methods().ByName(protoreflect.Name(method)) == nil {
		return body, nil
	}
	return protoJSON(sd.Methods().ByName(protoreflect.Name(method)).Output(), body)
}

// protoJSON reads p as a message of that type and writes it as JSON.
func protoJSON(d protoreflect.MessageDescriptor, p []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(p, m); err != nil {
		return nil, fmt.Errorf("not a %s: %w", d.FullName(), err)
	}
	return protojson.Marshal(m)
}

// debugDiffers says how the debug form of a detail disagrees with its bytes; "" when it
// agrees, or when its type is not known here.
func debugDiffers(detail map[string]any) string {
	name, _ := detail["type"].(string)
	value, _ := detail["value"].(string)
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	md, ok := d.(protoreflect.MessageDescriptor)
	p, bad := base64.RawStdEncoding.DecodeString(value)
	if err != nil || !ok || bad != nil {
		return ""
	}
	text, err := protoJSON(md, p)
	if err != nil {
		return ""
	}
	want, err := decodeJSON(text)
	if err != nil {
		return ""
	}
	debug := detail["debug"]
	if object, ok := debug.(map[string]any); ok {
		delete(object, "@type") // of a detail that was written as an Any
	}
	return comparison{expand: asIs}.equal("", want, debug)
}
