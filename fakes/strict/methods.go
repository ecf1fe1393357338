package strict

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// shape tells whether the request and the response of a method are streams.
type shape int

const (
	unary shape = iota
	serverStream
	clientStream
	bidiStream
)

// method is one procedure.
type method struct {
	shape shape
	// get reports that the procedure has no side effects and may be called by
	// GET.
	get bool
	// input creates an empty request message.
	input func() proto.Message
}

// allow returns the Allow header of a method; head means that HEAD is served
// where GET is.
func (m method) allow(head bool) string {
	switch {
	case m.get && head:
		return "GET, HEAD, POST"
	case m.get:
		return "GET, POST"
	default:
		return "POST"
	}
}

// Procedures returns the paths of the methods of a service.
func Procedures(service protoreflect.ServiceDescriptor) []string {
	var paths []string
	for i := range service.Methods().Len() {
		paths = append(paths, procedure(service.Methods().Get(i)))
	}
	return paths
}

func procedure(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// methodsOf returns the methods of a service by their path.
func methodsOf(service protoreflect.ServiceDescriptor) map[string]method {
	methods := map[string]method{}
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		methods[procedure(m)] = methodOf(m)
	}
	return methods
}

func methodOf(d protoreflect.MethodDescriptor) method {
	input, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil { // no generated type is linked
		input = dynamicpb.NewMessageType(d.Input())
	}
	m := method{input: func() proto.Message { return input.New().Interface() }}
	switch {
	case d.IsStreamingClient() && d.IsStreamingServer():
		m.shape = bidiStream
	case d.IsStreamingClient():
		m.shape = clientStream
	case d.IsStreamingServer():
		m.shape = serverStream
	}
	if o, ok := d.Options().(*descriptorpb.MethodOptions); ok {
		m.get = o.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
	}
	return m
}
