package target

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/internal/transport"
)

// probeProto makes a unary call, or a Start where that is refused otherwise, with the proto codec.
func probeProto(ctx context.Context, c *client) (findings, error) {
	req, err := rpcRequest(rpcList, "proto", "{}")
	if err != nil {
		return nil, err
	}
	s := c.do(ctx, req).Snapshot()
	if succeeded(s) {
		return findings{featProto: decide(s, contentType(s) == "application/proto")}, nil
	}
	if s.Response != nil && s.Response.Status == 415 {
		return findings{featProto: absent(describe(s))}, nil
	}
	if req, err = c.startRequest("proto", process{command: "true"}); err != nil {
		return nil, err
	}
	s = c.do(ctx, req).Snapshot()
	return findings{featProto: decide(s, hasEvent(s, bundle.EventStart))}, nil
}

// probeGzip sends a compressed unary request. A refusal only counts where the
// same request is not refused when it is plain.
func probeGzip(ctx context.Context, c *client) (findings, error) {
	req, err := rpcRequest(rpcList, "json", "{}",
		bundle.Header{Name: "content-encoding", Value: "gzip"},
		bundle.Header{Name: "accept-encoding", Value: "gzip"})
	if err != nil {
		return nil, err
	}
	req.body = transport.Gzip(req.body)
	s := c.do(ctx, req).Snapshot()
	if succeeded(s) {
		return findings{featGzip: present(describe(s))}, nil
	}
	if l := c.list(ctx); !l.valid {
		return findings{featGzip: unknown("there is no unary List to try it on: " + describe(l.answer))}, nil
	}
	return findings{featGzip: decide(s, false)}, nil
}

// probeCommands runs `true` by the NDJSON alias.
func probeCommands(ctx context.Context, c *client) (findings, error) {
	s := c.do(ctx, request{
		method: "POST", surface: "commands", shape: bundle.ShapeNDJSON, body: []byte(`{"cmd":"true"}`),
		headers: []bundle.Header{{Name: "content-type", Value: "application/json"}},
	}).Snapshot()
	return findings{featCommands: decide(s, hasEvent(s, bundle.EventStart))}, nil
}

// probeMetrics reads the exposition.
func probeMetrics(ctx context.Context, c *client) (findings, error) {
	x := c.do(ctx, request{method: "GET", surface: "metrics", shape: bundle.ShapePlain})
	s := x.Snapshot()
	switch {
	case !succeeded(s):
		return findings{featMetrics: decide(s, false)}, nil
	case isExposition(x.BodyBytes()):
		return findings{featMetrics: present(describe(s))}, nil
	case strings.HasSuffix(contentType(s), "json"), contentType(s) == "text/html":
		return findings{featMetrics: absent("not a Prometheus exposition: " + describe(s))}, nil
	}
	return findings{featMetrics: unknown("not a Prometheus exposition: " + describe(s))}, nil
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
