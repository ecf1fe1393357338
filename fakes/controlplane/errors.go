package controlplane

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"assay/fakes/strict"
)

// Error is an error of the API: {"code":<status>,"message":…}.
type Error struct {
	Status  int    `json:"code"`
	Message string `json:"message"`
	// Retry is the Retry-After header in seconds; 0 is none.
	Retry int `json:"-"`
}

func (e *Error) Error() string { return e.Message }

// failure returns an error of the API.
func failure(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// notFound reports that no sandbox has an id.
func notFound(id string) *Error {
	return failure(http.StatusNotFound, "sandbox %q not found: it does not exist or has ended", id)
}

// writeError writes an error in the form of the API.
func writeError(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = failure(http.StatusInternalServerError, "%v", err)
	}
	if e.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.Retry))
	}
	strict.LimitRest(w)
	strict.WriteJSON(w, e.Status, e)
}
