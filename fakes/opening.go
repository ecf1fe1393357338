package fakes

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/internal/wire"
)

// failureOf is the error of a stream that begins with its end, in JSON; nil for any
// other.
func failureOf(o *strict.Opening) json.RawMessage {
	if o.Flags&wire.FlagEndStream == 0 {
		return nil
	}
	payload := o.Payload
	if o.Flags&wire.FlagCompressed != 0 {
		var err error
		if payload, err = gunzip(payload); err != nil {
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
func onOpening(change func(*strict.Opening)) func(*seams, uint64) {
	return func(s *seams, _ uint64) {
		inner := s.policy.Opening
		s.policy.Opening = func(o *strict.Opening) {
			if inner != nil {
				inner(o)
			}
			change(o)
		}
	}
}

// errorAsHTTP gives a stream that failed before its first message the form of a
// unary error: the HTTP status of the code, and the error as the body.
func errorAsHTTP(o *strict.Opening) {
	failure := failureOf(o)
	if failure == nil {
		return
	}
	var e struct{ Code connect.Code }
	if json.Unmarshal(failure, &e) != nil {
		e.Code = connect.CodeUnknown
	}
	o.Status, o.Body = statusOf(e.Code), failure
	for _, name := range []string{"Connect-Accept-Encoding", "Connect-Content-Encoding"} {
		o.Header.Del(name)
	}
	o.Header.Set("Content-Type", "application/json")
}

// statusOf is the HTTP status of a code.
func statusOf(code connect.Code) int {
	s := &statusOnly{header: http.Header{}}
	strict.WriteError(s, connect.NewError(code, errors.New("")))
	return s.status
}

// gunzip decompresses a payload.
func gunzip(payload []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
