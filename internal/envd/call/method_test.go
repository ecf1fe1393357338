package call

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestTheShapeFollowsFromTheProcedure(t *testing.T) {
	for rpc, want := range map[string]Shape{
		ProcessStart:                     Stream,
		ProcessConnect:                   Stream,
		ProcessStreamInput:               Stream,
		"filesystem.Filesystem/WatchDir": Stream,
		"assay.v1.Probe/ServerStream":    Stream,
		ProcessList:                      Unary,
		FilesystemStat:                   Unary,
		ProbeUnary:                       Unary,
		"some.Other/Thing":               Unary,
		"":                               Unary,
	} {
		if got := ShapeOf(rpc); got != want {
			t.Errorf("ShapeOf(%q) = %s, want %s", rpc, got, want)
		}
	}
}

func TestEveryNamedProcedureIsInTheTable(t *testing.T) {
	for _, rpc := range []string{
		ProcessStart, ProcessConnect, ProcessSendSignal, ProcessSendInput, ProcessStreamInput, ProcessCloseStdin,
		ProcessUpdate, ProcessList, FilesystemStat, ProbeUnary, ProbeSafe,
	} {
		if _, err := Method(rpc); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyTypesOfTheTableAreKnown(t *testing.T) {
	for name, want := range map[string]bool{
		"process.ProcessEvent.EndEvent":       true,
		"assay.v1.Detail":                     true,
		"google.protobuf.Duration":            true,
		"process.Process":                     false, // a service
		"google.protobuf.FileDescriptorProto": false, // linked into every program that uses protobuf
	} {
		if _, ok := MessageType(name); ok != want {
			t.Errorf("MessageType(%q) = %t", name, ok)
		}
	}
}

func TestAProtobufMessageIsWrittenAsJSON(t *testing.T) {
	inner, err := anypb.New(durationpb.New(1500e6))
	if err != nil {
		t.Fatal(err)
	}
	p, err := proto.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := MessageType("google.protobuf.Any")
	got, err := FromProto(d, p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Encode(Text{"x", got}, JSON)
	if want := `{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1.500s"}`; err != nil || string(back) != want {
		t.Errorf("got %s, %v; want %s", back, err, want)
	}
	if _, err := FromProto(d, []byte{0xff}); err == nil {
		t.Error("bytes that are not protobuf are no error")
	}
}
