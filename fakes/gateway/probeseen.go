package gateway

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay/fakes/strict"
	"assay/internal/envd/probe"
)

// seen collects the probe's view of a request.
type seen struct{ *probe.Seen }

// newSeen records the metadata, the method and the deadline of a call.
func newSeen(ctx context.Context, h http.Header) seen {
	s := seen{&probe.Seen{Method: strict.HTTPMethod(ctx)}}
	if at, ok := ctx.Deadline(); ok {
		left := time.Until(at).Milliseconds()
		s.TimeoutMs = &left
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lower := strings.ToLower(name)
		if isProtocolHeader(lower) {
			continue
		}
		for _, v := range h[name] {
			s.Metadata = append(s.Metadata, fieldsOf(lower, v)...)
		}
	}
	return s
}

// fieldsOf reads one header line. Values of -bin names may be padded or not,
// and commas may join several.
func fieldsOf(name, value string) []*probe.Field {
	if !strings.HasSuffix(name, "-bin") {
		return []*probe.Field{{Name: name, Text: value}}
	}
	var out []*probe.Field
	for part := range strings.SplitSeq(value, ",") {
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(part), "="))
		f := &probe.Field{Name: name, Bin: raw}
		if err != nil {
			f = &probe.Field{Name: name, Text: part}
		}
		out = append(out, f)
	}
	return out
}

// count records one message of the request.
func (s seen) count(payload []byte) {
	s.Messages++
	s.Payload += uint64(len(payload))
}

// isProtocolHeader reports whether a lower-case name belongs to HTTP or to one
// of the protocols, and not to the caller.
func isProtocolHeader(name string) bool {
	switch name {
	case "accept", "accept-encoding", "accept-language", "authorization", "connection", "content-encoding", "content-length",
		"content-type", "cookie", "date", "host", "keep-alive", "origin", "referer", "te", "trailer", "transfer-encoding",
		"upgrade", "user-agent", "vary", "x-access-token", "x-grpc-web", "x-user-agent":
		return true
	}
	return strings.HasPrefix(name, "connect-") || strings.HasPrefix(name, "trailer-") ||
		strings.HasPrefix(name, "grpc-") || strings.HasPrefix(name, "sec-")
}
