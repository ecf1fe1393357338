package strict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"connectrpc.com/connect"
)

// AsError returns err with the code for the client: its own, that of an ended
// context, or internal.
func AsError(err error) *connect.Error {
	var known *connect.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	default:
		return connect.NewError(connect.CodeInternal, err)
	}
}

// invalid returns an invalid_argument error.
func invalid(format string, args ...any) *connect.Error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// WriteError writes the error of a unary Connect call: the HTTP status of the
// code and the error in JSON.
func WriteError(w http.ResponseWriter, err error) { write(w, "application/json", err) }

// writeGRPC writes a trailers-only response: the status of the error in the
// header block, and nothing else. connect-go does so only for gRPC-Web.
func (l *Layer) writeGRPC(w http.ResponseWriter, contentType string, err error) {
	if l.Policy.StatusInTrailers && !strings.HasPrefix(contentType, grpcWebType) {
		write(w, contentType, err)
		return
	}
	head := headerOnly{}
	write(head, grpcWebType, err)
	maps.Copy(w.Header(), http.Header(head))
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
}

// headerOnly is a response writer that keeps only the header.
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) WriteHeader(int)             {}
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }

// write lets connect-go write an error in the form of a content type. Only the
// content type decides the form, whatever else is wrong with the request.
func write(w http.ResponseWriter, contentType string, err error) {
	as := &http.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {contentType}}}
	// A failed write means that the client has gone.
	_ = connect.NewErrorWriter().Write(w, as, AsError(err))
}

// WriteJSON writes a response. A failed write means that the client has gone.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
