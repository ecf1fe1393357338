package fakes

import (
	"encoding/json"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"assay/internal/wire"
)

// opening is the beginning of an answer of a Connect stream, before any of it has
// been sent: its head, and its first envelope.
type opening struct {
	request *http.Request
	header  http.Header
	status  int
	flags   byte
	payload []byte
	// body, when set, is sent in the place of the envelope. Whatever follows the
	// envelope is dropped then.
	body []byte
}

// failure is the error of a stream that begins with its end, in JSON; nil for any
// other.
func (o *opening) failure() json.RawMessage {
	if o.flags&wire.FlagEndStream == 0 {
		return nil
	}
	payload := o.payload
	if o.flags&wire.FlagCompressed != 0 {
		var err error
		if payload, err = gunzip(payload, connect.CodeInternal); err != nil {
			return nil
		}
	}
	var end struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(payload, &end) != nil {
		return nil
	}
	return end.Error
}

// onOpening changes how every Connect stream begins.
func onOpening(change func(*opening)) func(*seams, uint64) {
	return func(s *seams, _ uint64) {
		inner := s.opening
		s.opening = func(o *opening) {
			if inner != nil {
				inner(o)
			}
			change(o)
		}
	}
}

// errorAsHTTP gives a stream that failed before its first message the form of a
// unary error: the HTTP status of the code, and the error as the body.
func errorAsHTTP(o *opening) {
	failure := o.failure()
	if failure == nil {
		return
	}
	var e struct{ Code connect.Code }
	if json.Unmarshal(failure, &e) != nil {
		e.Code = connect.CodeUnknown
	}
	o.status, o.body = statusOf(e.Code), failure
	for _, name := range []string{"Connect-Accept-Encoding", "Connect-Content-Encoding"} {
		o.header.Del(name)
	}
	o.header.Set("Content-Type", "application/json")
}

// statusOf is the HTTP status of a code.
func statusOf(code connect.Code) int {
	s := statusOnly{headerOnly: headerOnly{}}
	newErrorWriter().unary(&s, connect.NewError(code, errors.New("")))
	return s.status
}

// statusOnly is a response of which only the status is wanted.
type statusOnly struct {
	headerOnly
	status int
}

func (s *statusOnly) WriteHeader(status int) { s.status = status }
