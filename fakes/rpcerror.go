package fakes

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
)

// rpcError gives an error of the gateway the code that a client is to see.
func rpcError(err error) *connect.Error {
	var known *connect.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, errLost):
		return connect.NewError(connect.CodeResourceExhausted, err)
	default:
		return connect.NewError(connect.CodeInternal, err)
	}
}

// errorWriter writes errors that are found before, or beside, connect-go.
type errorWriter struct{ w *connect.ErrorWriter }

func newErrorWriter() errorWriter { return errorWriter{connect.NewErrorWriter()} }

// unary answers with the status of the code and a JSON error.
func (e errorWriter) unary(w http.ResponseWriter, err error) {
	e.write(w, "application/json", err)
}

// stream answers 200 and an end-of-stream message that holds the error.
func (e errorWriter) stream(w http.ResponseWriter, contentType string, err error) {
	e.write(w, contentType, err)
}

// write lets connect-go write the error in the form of a content type. Only
// the content type of the request steers it: whatever else was wrong with the
// request must not change the form of the answer.
func (e errorWriter) write(w http.ResponseWriter, contentType string, err error) {
	as := &http.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {contentType}}}
	// What cannot be written has no reader any more.
	_ = e.w.Write(w, as, rpcError(err))
}
