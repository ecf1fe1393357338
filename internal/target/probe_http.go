package target

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/internal/wire"
)

// probeGzip sends a compressed unary request. A refusal only counts where the
// same request is not refused when it is plain.
func probeGzip(ctx context.Context, c *client) (findings, error) {
	req, err := c.rpcRequest(rpcList, "{}")
	if err != nil {
		return nil, err
	}
	if err := req.compress(c.way.Codec); err != nil {
		return nil, err
	}
	s := c.do(ctx, req).Snapshot()
	if succeeded(s) {
		return findings{featGzip: present(describe(s))}, nil
	}
	if l := c.list(ctx); !l.valid {
		return findings{featGzip: unknown("there is no unary List to try it on: " + describe(l.answer))}, nil
	}
	return findings{featGzip: decide(s, false)}, nil
}

// compress makes a List request one that is compressed, and accepts that too.
func (r *request) compress(codec string) error {
	p, err := transport.Message(rpcList, codec, []byte("{}"))
	if err != nil {
		return err
	}
	// An empty message is never decompressed, so proto gets a field that nobody knows.
	if len(p) == 0 {
		p = []byte{0x98, 0x06, 0x01} // field 99, varint 1
	}
	prefix := ""
	r.body = transport.Gzip(p)
	if r.enveloped() {
		prefix = "grpc-"
		r.body = wire.AppendEnvelope(nil, wire.FlagCompressed, r.body)
	}
	field, accept := prefix+"encoding", prefix+"accept-encoding"
	if prefix == "" {
		field = "content-encoding"
	}
	r.headers = append(r.headers, bundle.Header{Name: field, Value: "gzip"}, bundle.Header{Name: accept, Value: "gzip"})
	return nil
}

// probeCommands runs `true` by the NDJSON alias.
func probeCommands(ctx context.Context, c *client) (findings, error) {
	s := c.do(ctx, request{
		method: "POST", surface: "commands", shape: bundle.ShapeNDJSON, body: []byte(`{"cmd":"true"}`),
		headers: []bundle.Header{{Name: "content-type", Value: "application/json"}},
	}).Snapshot()
	f := decide(s, hasEvent(s, bundle.EventStart))
	// A page for every path is no alias: what answers well and without a single
	// event is something else.
	if f.State == bundle.FeatureUnknown && s.Outcome == bundle.OutcomeComplete && len(s.Events) == 0 {
		f = absent("not NDJSON: " + describe(s))
	}
	return findings{featCommands: f}, nil
}

// probeMetrics reads the exposition, and looks whether the gateway tells of its
// own process in it.
func probeMetrics(ctx context.Context, c *client) (findings, error) {
	x := c.do(ctx, request{method: "GET", surface: "metrics", shape: bundle.ShapePlain})
	s := x.Snapshot()
	body := x.BodyBytes()
	switch {
	case !succeeded(s):
		f := decide(s, false)
		return findings{featMetrics: f, featOwnMetrics: f}, nil
	case isExposition(body):
		own := absent("no sample of the exposition begins with process_")
		if bytes.HasPrefix(body, []byte("process_")) || bytes.Contains(body, []byte("\nprocess_")) {
			own = present("the exposition has process_ samples")
		}
		return findings{featMetrics: present(describe(s)), featOwnMetrics: own}, nil
	case strings.HasSuffix(contentType(s), "json"), contentType(s) == "text/html":
		f := absent("not a Prometheus exposition: " + describe(s))
		return findings{featMetrics: f, featOwnMetrics: f}, nil
	}
	f := unknown("not a Prometheus exposition: " + describe(s))
	return findings{featMetrics: f, featOwnMetrics: f}, nil
}

// isExposition looks whether the first sample reads "name{labels} value"; an
// exposition without samples has at least a comment.
func isExposition(body []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(body))
	comment := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "#"):
			comment = true
			continue
		}
		if i := strings.LastIndexByte(line, '}'); i >= 0 {
			line = "labels " + line[i+1:]
		}
		words := strings.Fields(line)
		if len(words) < 2 || len(words) > 3 {
			return false
		}
		_, err := strconv.ParseFloat(words[1], 64)
		return err == nil
	}
	return comment
}

// probeHealth asks for the health of the gateway.
func probeHealth(ctx context.Context, c *client) (findings, error) {
	s := c.do(ctx, request{method: "GET", surface: "health", shape: bundle.ShapePlain}).Snapshot()
	ok := s.Outcome == bundle.OutcomeComplete && s.Response.Status >= 200 && s.Response.Status < 300
	return findings{featHealth: decide(s, ok)}, nil
}
