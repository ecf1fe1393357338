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

// intercept runs a call of the process service. The response is nil for a stream.
type intercept func(procedure string, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error)

// intercepted puts an interceptor around the others.
func intercepted(i intercept) func(*build) { return interceptor{i, func(any) {}}.install }

// onMessages changes the request messages of the process service.
func onMessages(change func(m any)) func(*build) {
	return interceptor{func(_ string, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) { return call() }, change}.install
}

// interceptor runs every call, and changes every request message.
type interceptor struct {
	run    intercept
	change func(m any)
}

var _ connect.Interceptor = interceptor{}

func (i interceptor) install(b *build) {
	b.Seams.Interceptors = append([]connect.Interceptor{i}, b.Seams.Interceptors...)
}

// WrapUnary intercepts unary calls.
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		i.change(req.Any())
		return i.run(req.Spec().Procedure, func() (connect.AnyResponse, error) { return next(ctx, req) })
	}
}

// WrapStreamingHandler intercepts streams.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		_, err := i.run(conn.Spec().Procedure, func() (connect.AnyResponse, error) { return nil, next(ctx, changedConn{conn, i.change}) })
		return err
	}
}

// WrapStreamingClient does nothing: a gateway makes no calls.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// changedConn changes the messages that are received.
type changedConn struct {
	connect.StreamingHandlerConn
	change func(m any)
}

// Receive receives one message.
func (c changedConn) Receive(m any) error {
	err := c.StreamingHandlerConn.Receive(m)
	if err == nil {
		c.change(m)
	}
	return err
}
