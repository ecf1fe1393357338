package transport

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// decodeWhole runs bytes through a connection without a socket, in pieces of step
// bytes, and returns the records of three exchanges.
func decodeWhole(t *testing.T, p []byte, step int) []bundle.Exchange {
	t.Helper()
	rec := NewRecorder(NewClock(), nil)
	c := newConn(rec, "c", "")
	for _, call := range []Call{
		{RPC: "process.Process/Start", Shape: bundle.ShapeStream, Codec: "json", Method: "POST"},
		{RPC: "process.Process/List", Shape: bundle.ShapeUnary, Codec: "json", Method: "POST"},
		{Shape: bundle.ShapeNDJSON, Method: "POST"},
	} {
		c.Begin(call)
	}
	for len(p) > 0 {
		n := min(step, len(p))
		c.feed(p[:n])
		p = p[n:]
	}
	_, xs := rec.Finish(nil)
	return xs
}

// FuzzAnswers: no bytes make the decoding of answers fail, and their division into
// reads changes nothing but times.
func FuzzAnswers(f *testing.F) {
	stream := wire.AppendEnvelope(nil, 0, []byte(`{"event":{"start":{"pid":7}}}`))
	stream = wire.AppendEnvelope(stream, 1, call.Compress([]byte(`{"event":{"end":{}}}`)))
	stream = wire.AppendEnvelope(stream, 2, []byte(`{"error":{"code":"internal"}}`))
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nConnect-Content-Encoding: gzip\r\n"
	f.Add([]byte(head + "Content-Length: " + strconv.Itoa(len(stream)) + "\r\n\r\n" + string(stream) +
		"HTTP/1.1 404 X\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"code\":\"not_found\"}" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n{\"type\":\"start\",\"pid\":1}\r\n1\r\n\n\r\n0\r\n\r\n"))
	f.Add([]byte(head + "\r\n" + string(stream)))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 X\r\n\r\nextra"))
	f.Add([]byte("SSH-2.0\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		want := timeless(t, decodeWhole(t, p, len(p)+1))
		for _, step := range []int{1, 3} {
			if got := timeless(t, decodeWhole(t, p, step)); !bytes.Equal(got, want) {
				t.Fatalf("in steps of %d:\n%s\nin one:\n%s", step, got, want)
			}
		}
	})
}

// timeless renders exchanges without stamps and chunk tables.
func timeless(t *testing.T, xs []bundle.Exchange) []byte {
	t.Helper()
	p, err := json.Marshal(xs)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(p, &v); err != nil {
		t.Fatal(err)
	}
	p, err = json.Marshal(dropTimes(v))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func dropTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "chunks")
		if _, ok := v["n"].(float64); ok && len(v) == 2 {
			return nil
		}
		for k := range v {
			v[k] = dropTimes(v[k])
		}
	case []any:
		for i := range v {
			v[i] = dropTimes(v[i])
		}
	}
	return v
}
