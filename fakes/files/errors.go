package files

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"connectrpc.com/connect"

	"assay/fakes/strict"
)

// problem returns an error with a code.
func problem(code connect.Code, format string, args ...any) *connect.Error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

// errnos are the codes of what a tree reports. Without a line of its own an errno
// is internal.
var errnos = map[syscall.Errno]connect.Code{
	syscall.ENOENT:       connect.CodeNotFound,
	syscall.ENOTDIR:      connect.CodeNotFound, // a file in the middle of a path: nothing is there
	syscall.EISDIR:       connect.CodeInvalidArgument,
	syscall.EINVAL:       connect.CodeInvalidArgument,
	syscall.ENAMETOOLONG: connect.CodeInvalidArgument,
	syscall.EEXIST:       connect.CodeAlreadyExists,
	syscall.ENOTEMPTY:    connect.CodeFailedPrecondition,
	syscall.ELOOP:        connect.CodeFailedPrecondition,
	syscall.EXDEV:        connect.CodeFailedPrecondition,
	syscall.EBUSY:        connect.CodeFailedPrecondition,
	syscall.EROFS:        connect.CodeFailedPrecondition,
	syscall.EACCES:       connect.CodePermissionDenied,
	syscall.EPERM:        connect.CodePermissionDenied,
	syscall.ENOSPC:       connect.CodeResourceExhausted,
	syscall.EDQUOT:       connect.CodeResourceExhausted,
	syscall.EMFILE:       connect.CodeResourceExhausted,
	syscall.ENFILE:       connect.CodeResourceExhausted,
}

// rpcError describes the failure of an operation on a path.
func rpcError(operation, name string, err error) *connect.Error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return strict.AsError(err)
	}
	code, ok := errnos[errno]
	if !ok {
		code = connect.CodeInternal
	}
	return problem(code, "%s %s: %s", operation, text(name), errno)
}

// statuses are the HTTP statuses of codes on the HTTP routes.
var statuses = map[connect.Code]int{
	connect.CodeInvalidArgument:    http.StatusBadRequest,
	connect.CodeFailedPrecondition: http.StatusBadRequest,
	connect.CodeAlreadyExists:      http.StatusBadRequest,
	connect.CodeNotFound:           http.StatusNotFound,
	connect.CodeUnauthenticated:    http.StatusUnauthorized,
	connect.CodePermissionDenied:   http.StatusForbidden,
	connect.CodeResourceExhausted:  http.StatusInsufficientStorage,
}

// statusError is an error of the HTTP routes that no code describes.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

// httpError returns the status and the text of an error.
func httpError(err error) (status int, message string) {
	var own *statusError
	var known *connect.Error
	switch {
	case errors.As(err, &own):
		return own.status, own.message
	case !errors.As(err, &known):
		return http.StatusInternalServerError, err.Error()
	}
	if status, ok := statuses[known.Code()]; ok {
		return status, known.Message()
	}
	return http.StatusInternalServerError, known.Message()
}

// isErrno reports whether err is one of the errnos.
func isErrno(err error, list ...syscall.Errno) bool {
	for _, errno := range list {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
