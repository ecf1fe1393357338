package call

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"assay/internal/envd/filesystem"
	"assay/internal/envd/probe"
	"assay/internal/envd/process"
)

// The procedures that Assay itself calls.
const (
	ProcessStart       = "process.Process/Start"
	ProcessConnect     = "process.Process/Connect"
	ProcessSendSignal  = "process.Process/SendSignal"
	ProcessSendInput   = "process.Process/SendInput"
	ProcessStreamInput = "process.Process/StreamInput"
	ProcessCloseStdin  = "process.Process/CloseStdin"
	ProcessUpdate      = "process.Process/Update"
	ProcessList        = "process.Process/List"
	FilesystemStat     = "filesystem.Filesystem/Stat"
	FilesystemRemove   = "filesystem.Filesystem/Remove"
	FilesystemWatchDir = "filesystem.Filesystem/WatchDir"
	ProbeUnary         = "assay.v1.Probe/Unary"
	ProbeSafe          = "assay.v1.Probe/Safe"
)

// table holds the files of our services, and the well-known types, which the details of
// an error may contain. Other files linked into the program do not matter.
var table = tableOf(
	process.File_process_process_proto, filesystem.File_filesystem_filesystem_proto, probe.File_assay_v1_probe_proto,
	anypb.File_google_protobuf_any_proto, durationpb.File_google_protobuf_duration_proto,
	emptypb.File_google_protobuf_empty_proto, structpb.File_google_protobuf_struct_proto,
	timestamppb.File_google_protobuf_timestamp_proto, wrapperspb.File_google_protobuf_wrappers_proto,
)

// types resolves the types in a google.protobuf.Any.
var types = dynamicpb.NewTypes(table)

func tableOf(files ...protoreflect.FileDescriptor) *protoregistry.Files {
	t := new(protoregistry.Files)
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if _, err := t.FindFileByPath(f.Path()); err == nil {
			return
		}
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i))
		}
		// The names of generated files are unique, so registration does not fail.
		_ = t.RegisterFile(f)
	}
	for _, f := range files {
		add(f)
	}
	return t
}

// Method returns the method of a procedure name such as "process.Process/Start".
func Method(rpc string) (protoreflect.MethodDescriptor, error) {
	service, name, ok := strings.Cut(rpc, "/")
	if !ok {
		return nil, fmt.Errorf("rpc %q is not of the form package.Service/Method", rpc)
	}
	d, err := table.FindDescriptorByName(protoreflect.FullName(service))
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

// NoMethod reports whether a procedure names a method that its service, which is known, does not have.
func NoMethod(rpc string) bool {
	service, _, _ := strings.Cut(rpc, "/")
	_, unknown := table.FindDescriptorByName(protoreflect.FullName(service))
	_, err := Method(rpc)
	return unknown == nil && err != nil
}

// MessageType returns the message with a full name, such as "process.StartRequest",
// from our services and the well-known types.
func MessageType(name string) (m protoreflect.MessageDescriptor, ok bool) {
	d, err := table.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, false
	}
	m, ok = d.(protoreflect.MessageDescriptor)
	return m, ok
}

// Shape says how Connect sends the messages of a procedure.
type Shape string

// The shapes.
const (
	Unary  Shape = "unary"  // the body is the message
	Stream Shape = "stream" // every message is enveloped
)

// ShapeOf returns Stream for every procedure that streams in either direction (Start,
// Connect, WatchDir, and StreamInput, whose single response is enveloped too), and
// Unary for every other procedure, known or not.
func ShapeOf(rpc string) Shape {
	m, err := Method(rpc)
	if err == nil && (m.IsStreamingServer() || m.IsStreamingClient()) {
		return Stream
	}
	return Unary
}
