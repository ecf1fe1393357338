package zoo

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

// frameFaults returns the faults in the envelopes of a response.
func frameFaults() []fault {
	return []fault{
		{Fault{
			ID:     "eos-dropped",
			Title:  "The end-of-stream envelope of a stream is not sent",
			Breaks: []string{"connect.stream.end-stream-once"},
			Source: "bufbuild/connect-rust#140, connectrpc/conformance#1104",
		}, onFrames(dropEndStream)},
		{Fault{
			ID:     "eos-null-error",
			Title:  "A successful stream ends with {\"error\":null}",
			Breaks: []string{"connect.stream.end-stream-error"},
			Source: "opensandbox-group/OpenSandbox#700",
		}, onFrames(nullError)},
		{Fault{
			ID:     "error-code-number",
			Title:  "The error code of a stream is an HTTP status number",
			Breaks: []string{"connect.error.code"},
			Source: "e2b-dev/E2B#806",
		}, onFrames(numberCode)},
		{Fault{
			ID:     "compressed-undeclared",
			Title:  "Messages are compressed without a declared encoding",
			Breaks: []string{"connect.compression.declared-response", "connect.compression.accepted-response"},
			Source: "mattrobenolt/connect-python#11, seen from the other side",
		}, onFrames(compressAll)},
		{Fault{
			ID:     "stream-errors-as-http",
			Title:  "A stream that fails before its first message has the HTTP status of its error, and a JSON body",
			Breaks: []string{"connect.stream.status-200", "connect.timeout.stream-error-form"},
			Source: "gateways that write the errors of all calls with one function; e2b-dev/E2B#806 at the edge",
		}, onOpening(errorAsHTTP)},
	}
}

// frameVariants returns the variants in the envelopes of a response.
func frameVariants() []variant {
	return []variant{
		{Variant{
			ID:     "eos-metadata",
			Title:  "End-of-stream messages contain metadata",
			Source: "the Connect protocol, EndStreamResponse: a server may send trailing metadata",
		}, onFrames(func(next strict.FrameSink) strict.FrameSink {
			return onEndStream(next, func(end map[string]json.RawMessage) {
				metadata := map[string][]string{}
				if end["metadata"] != nil && json.Unmarshal(end["metadata"], &metadata) != nil {
					return
				}
				metadata["x-served-by"], metadata["x-hops"] = []string{"node-7"}, []string{"1", "2"}
				end["metadata"], _ = json.Marshal(metadata) // a map of strings always encodes
			})
		})},
	}
}

// onFrames puts a decorator around the envelopes of every response.
func onFrames(decorate func(strict.FrameSink) strict.FrameSink) func(*build) {
	return func(b *build) { b.policy.Frames = around(b.policy.Frames, decorate) }
}

// onEndStream changes the last message of every Connect stream that is not
// compressed.
func onEndStream(next strict.FrameSink, change func(end map[string]json.RawMessage)) strict.FrameSink {
	return strict.FrameSinkFunc(func(flags byte, payload []byte) error {
		if flags != wire.FlagEndStream {
			return next.Frame(flags, payload)
		}
		end := map[string]json.RawMessage{}
		if err := json.Unmarshal(payload, &end); err != nil {
			return err
		}
		change(end)
		changed, err := json.Marshal(end)
		if err != nil {
			return err
		}
		return next.Frame(flags, changed)
	})
}

// dropEndStream drops the last envelope of every stream.
func dropEndStream(next strict.FrameSink) strict.FrameSink {
	return strict.FrameSinkFunc(func(flags byte, payload []byte) error {
		if flags&wire.FlagEndStream != 0 {
			return nil
		}
		return next.Frame(flags, payload)
	})
}

// nullError adds a null error to the end of a successful stream.
func nullError(next strict.FrameSink) strict.FrameSink {
	return onEndStream(next, func(end map[string]json.RawMessage) {
		if end["error"] == nil {
			end["error"] = json.RawMessage("null")
		}
	})
}

// numberCode replaces the code of an error by its HTTP status.
func numberCode(next strict.FrameSink) strict.FrameSink {
	return onEndStream(next, func(end map[string]json.RawMessage) {
		var e map[string]any
		if json.Unmarshal(end["error"], &e) != nil || e["code"] == nil {
			return
		}
		number := 500
		if e["code"] == connect.CodeNotFound.String() {
			number = 404
		}
		e["code"] = number
		end["error"], _ = json.Marshal(e) // decoded JSON always encodes
	})
}

// compressAll compresses plain messages.
func compressAll(next strict.FrameSink) strict.FrameSink {
	return strict.FrameSinkFunc(func(flags byte, payload []byte) error {
		if flags != 0 {
			return next.Frame(flags, payload)
		}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(payload)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return err
		}
		return next.Frame(wire.FlagCompressed, b.Bytes())
	})
}

// failureOf returns the error, in JSON, of a stream that begins with its end; nil
// for any other stream.
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

// onOpening changes the beginning of every Connect stream.
func onOpening(change func(*strict.Opening)) func(*build) {
	return func(b *build) {
		inner := b.policy.Opening
		b.policy.Opening = func(o *strict.Opening) {
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

// statusOf returns the HTTP status of a code.
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
