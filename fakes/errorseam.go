package fakes

import (
	"context"

	"assay/fakes/strict"

	"connectrpc.com/connect"
)

// errorSeam puts the decorators of the errors around the process service.
type errorSeam struct{ decorate func(error) error }

var _ connect.Interceptor = errorSeam{}

// procedureError says to the decorators where an error comes from.
type procedureError struct {
	error
	procedure string
}

func (e *procedureError) Unwrap() error { return e.error }

// changed is the error after all decorators.
func (s errorSeam) changed(err error, procedure string) error {
	return strict.AsError(s.decorate(&procedureError{err, procedure}))
}

// WrapUnary decorates the error of a unary call, or of a client stream.
func (s errorSeam) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	if s.decorate == nil {
		return next
	}
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		res, err := next(ctx, req)
		if err != nil {
			err = s.changed(err, req.Spec().Procedure)
		}
		return res, err
	}
}

// WrapStreamingHandler decorates the error of a stream.
func (s errorSeam) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	if s.decorate == nil {
		return next
	}
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		if err != nil {
			err = s.changed(err, conn.Spec().Procedure)
		}
		return err
	}
}

// WrapStreamingClient does nothing: a gateway calls nobody.
func (errorSeam) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
