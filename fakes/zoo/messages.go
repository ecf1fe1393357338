package zoo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/strict"
	"assay/internal/envd/probe"
	"assay/internal/envd/process/processconnect"

	envd "assay/internal/envd/process"
)

// messageVariants returns the variants in the form of messages and errors.
func messageVariants() []variant {
	return []variant{
		{Variant{
			ID:     "explicit-zero-values",
			Title:  "JSON messages contain fields with a zero value: exitCode 0, exited false, an empty status",
			Source: "agentscope-ai/agentscope-java#2793; protobuf JSON mapping: implementations may write default values",
		}, func(b *build) { b.Seams.JSON.Write.EmitDefaultValues = true }},
		{Variant{
			ID:     "indented-json",
			Title:  "JSON messages span several lines",
			Source: "e2b_connect (Python), which pretty-prints; RFC 8259: white space is insignificant",
		}, func(b *build) { b.Seams.JSON.Layout = indented }},
		{Variant{
			ID:     "errors-with-details",
			Title:  "Errors of the process service have details, with properties beside type and value",
			Source: "the Connect protocol, Error: debug and other properties are allowed, though connectrpc/conformance refuses them",
		}, onErrors(func(e *connect.Error) *connect.Error {
			if d, err := connect.NewErrorDetail(&probe.Detail{Text: "unrequested"}); err == nil {
				e.AddDetail(d)
			}
			return e
		})},
		{Variant{
			ID:     "errors-without-message",
			Title:  "Errors of the process service have a code and no text",
			Source: "the Connect protocol, Error: message is optional",
		}, onErrors(func(e *connect.Error) *connect.Error { return connect.NewError(e.Code(), errors.New("")) })},
		{Variant{
			ID:     "errors-in-unicode",
			Title:  "Errors of the process service have texts beyond ASCII",
			Source: "the Connect protocol, Error: message is UTF-8; gRPC: it is percent-encoded",
		}, onErrors(func(e *connect.Error) *connect.Error {
			return connect.NewError(e.Code(), errors.New("Fehler: „"+e.Message()+"“ — 100 % 漢字"))
		})},
		{Variant{
			ID:     "update-ignored",
			Title:  "Update of a process without a terminal succeeds and does nothing",
			Source: "gateways that store a size for every process",
		}, intercepted(updateIgnored)},
	}
}

// indented lays JSON out over several lines.
func indented(dst *bytes.Buffer, src []byte) error { return json.Indent(dst, src, "", "  ") }

// onErrors changes the errors of the process service.
func onErrors(change func(*connect.Error) *connect.Error) func(*build) {
	return onProcedureErrors(func(_ string, err error) error { return change(strict.AsError(err)) })
}

// onProcedureErrors is onErrors with the path of the procedure.
func onProcedureErrors(change func(procedure string, err error) error) func(*build) {
	return intercepted(func(procedure string, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
		res, err := call()
		if err != nil {
			err = strict.AsError(change(procedure, err))
		}
		return res, err
	})
}

// updateIgnored accepts the size of a terminal for a process that has none.
func updateIgnored(procedure string, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
	res, err := call()
	if procedure == processconnect.ProcessUpdateProcedure && errors.Is(err, gateway.ErrNoTerminal) {
		return connect.NewResponse(&envd.UpdateResponse{}), nil
	}
	return res, err
}

// intercepted puts a function around the calls of the process service. The response is nil for a stream.
func intercepted(run func(procedure string, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error)) func(*build) {
	return onCalls(interceptor{run: func(procedure string, _ any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
		return run(procedure, call)
	}})
}

// onMessages changes the request messages of the process service.
func onMessages(change func(m any)) func(*build) { return onCalls(interceptor{receive: change}) }

// onCalls puts an interceptor around the others of the process service.
func onCalls(i interceptor) func(*build) {
	return func(b *build) { b.Seams.Interceptors = append([]connect.Interceptor{i}, b.Seams.Interceptors...) }
}

// interceptor changes the calls of a service. A nil function changes nothing.
type interceptor struct {
	// run runs a call; request and response are nil for a stream.
	run     func(procedure string, request any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error)
	receive func(m any)      // changes a request message
	send    func(m any) bool // changes a message of a stream, or drops it
}

var _ connect.Interceptor = interceptor{}

// WrapUnary intercepts unary calls.
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if i.receive != nil {
			i.receive(req.Any())
		}
		return i.around(req.Spec().Procedure, req.Any(), func() (connect.AnyResponse, error) { return next(ctx, req) })
	}
}

func (i interceptor) around(procedure string, request any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
	if i.run == nil {
		return call()
	}
	return i.run(procedure, request, call)
}

// WrapStreamingHandler intercepts streams.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		_, err := i.around(conn.Spec().Procedure, nil, func() (connect.AnyResponse, error) { return nil, next(ctx, changedConn{conn, i}) })
		return err
	}
}

// WrapStreamingClient does nothing: a gateway makes no calls.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// changedConn changes the messages of a stream.
type changedConn struct {
	connect.StreamingHandlerConn
	by interceptor
}

// Receive receives one message.
func (c changedConn) Receive(m any) error {
	err := c.StreamingHandlerConn.Receive(m)
	if err == nil && c.by.receive != nil {
		c.by.receive(m)
	}
	return err
}

// Send sends one message, unless it is dropped.
func (c changedConn) Send(m any) error {
	if c.by.send != nil && !c.by.send(m) {
		return nil
	}
	return c.StreamingHandlerConn.Send(m)
}
