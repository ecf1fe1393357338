package fakes

import (
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// shape is what a method takes and gives.
type shape int

const (
	unary        shape = iota
	serverStream       // one message in, a stream out
	clientStream       // a stream in, one message out
	bidiStream         // a stream in, a stream out
)

// method is what the strict layer knows of a procedure.
type method struct {
	shape shape
	// get says that it has no side effects and may be called by GET.
	get bool
	// input makes an empty request message.
	input func() proto.Message
}

// allow is the value of the Allow header of a method; head says that HEAD is
// served where GET is.
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

// processMethods are the procedures of the process service.
func processMethods() map[string]method {
	return map[string]method{
		processconnect.ProcessListProcedure:        {input: newInput[envd.ListRequest]},
		processconnect.ProcessConnectProcedure:     {shape: serverStream, input: newInput[envd.ConnectRequest]},
		processconnect.ProcessStartProcedure:       {shape: serverStream, input: newInput[envd.StartRequest]},
		processconnect.ProcessUpdateProcedure:      {input: newInput[envd.UpdateRequest]},
		processconnect.ProcessStreamInputProcedure: {shape: clientStream, input: newInput[envd.StreamInputRequest]},
		processconnect.ProcessSendInputProcedure:   {input: newInput[envd.SendInputRequest]},
		processconnect.ProcessSendSignalProcedure:  {input: newInput[envd.SendSignalRequest]},
		processconnect.ProcessCloseStdinProcedure:  {input: newInput[envd.CloseStdinRequest]},
	}
}

// probeMethods are the procedures of the probe service.
func probeMethods() map[string]method {
	return map[string]method{
		probeconnect.ProbeUnaryProcedure:         {input: newInput[probe.UnaryRequest]},
		probeconnect.ProbeSafeProcedure:          {get: true, input: newInput[probe.SafeRequest]},
		probeconnect.ProbeServerStreamProcedure:  {shape: serverStream, input: newInput[probe.ServerStreamRequest]},
		probeconnect.ProbeClientStreamProcedure:  {shape: clientStream, input: newInput[probe.ClientStreamRequest]},
		probeconnect.ProbeBidiStreamProcedure:    {shape: bidiStream, input: newInput[probe.BidiStreamRequest]},
		probeconnect.ProbeUnimplementedProcedure: {input: newInput[probe.UnimplementedRequest]},
	}
}

// newInput makes a message of a type.
func newInput[T any, P interface {
	*T
	proto.Message
}]() proto.Message {
	return P(new(T))
}
