package fakes

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"

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
type errorWriter struct {
	w *connect.ErrorWriter
	// trailers has the status of a gRPC error in trailers, behind a head.
	trailers bool
}

func newErrorWriter() errorWriter { return errorWriter{w: connect.NewErrorWriter()} }

// unary answers with the status of the code and a JSON error.
func (e errorWriter) unary(w http.ResponseWriter, err error) {
	e.write(w, "application/json", err)
}

// stream answers 200 and an end-of-stream message that holds the error.
func (e errorWriter) stream(w http.ResponseWriter, contentType string, err error) {
	e.write(w, contentType, err)
}

// grpc answers with the status of the error in the header block, and nothing
// else: what gRPC calls trailers-only. connect-go writes that for gRPC-Web only.
func (e errorWriter) grpc(w http.ResponseWriter, contentType string, err error) {
	if e.trailers && !strings.HasPrefix(contentType, grpcWebType) {
		e.write(w, contentType, err)
		return
	}
	head := headerOnly{}
	e.write(head, grpcWebType, err)
	maps.Copy(w.Header(), http.Header(head))
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
}

// headerOnly is a response of which only the header is wanted.
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) WriteHeader(int)             {}
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }

// write lets connect-go write the error in the form of a content type. Only
// the content type of the request steers it: whatever else was wrong with the
// request must not change the form of the answer.
func (e errorWriter) write(w http.ResponseWriter, contentType string, err error) {
	as := &http.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {contentType}}}
	// What cannot be written has no reader any more.
	_ = e.w.Write(w, as, rpcError(err))
}
