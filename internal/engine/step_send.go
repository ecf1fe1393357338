package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/surface"
	"assay/internal/transport"
	"assay/scenarios"
)

// The framings of the body of a send.
const (
	framingLength  = "length"
	framingChunked = "chunked"
	framingNone    = "none"
)

func (it *iteration) sendPlan(s *scenarios.Send) callPlan {
	return callPlan{
		op: bundle.OpSend, as: s.As, split: s.Split, on: s.On, finish: s.Finish, wait: s.Wait, within: s.Within,
		protocol: s.Protocol,
		build:    func(ctx context.Context, f call.Form) (request, error) { return it.sendRequest(ctx, f, s) },
	}
}

// sendRequest renders a request of any form. Everything that the script leaves open is
// well-formed.
func (it *iteration) sendRequest(ctx context.Context, f call.Form, s *scenarios.Send) (request, error) {
	f.Shape = call.Shape(s.Shape)
	path, err := it.sendPath(ctx, s)
	if err != nil {
		return request{}, err
	}
	body, plan, err := it.sendBody(ctx, f, s)
	if err != nil {
		return request{}, err
	}
	method := s.Method
	if method == "" {
		method = "GET"
		if s.RPC != "" || len(body.wire) > 0 {
			method = "POST"
		}
	}
	c := transport.Call{
		RPC: s.RPC, Surface: s.Surface, Codec: call.JSON, Shape: surface.Of(s.Surface).Shape(method, s.Path),
		Method: method, Path: path, Body: body.entity,
	}
	plan.form = f
	if s.RPC != "" {
		c.Surface, c.Protocol, c.Codec, c.Shape = surface.Process, f.Protocol, f.Codec, bundle.Shape(f.ShapeOf(s.RPC))
		plan.rpc = s.RPC
		plan.timeout = s.Timeout
		plan.contentType = f.ContentType(s.RPC)
	}
	missing, err := frame(&plan, &body, method, s)
	if err != nil {
		return request{}, err
	}
	if plan.overrides, err = it.expandHeaders(ctx, s.Headers); err != nil {
		return request{}, err
	}
	c.Headers = it.in.headers(plan)
	req := assemble(c, f, body.wire)
	if req.http2 {
		req.body = body.entity
	}
	req.missing, req.chunked = missing, plan.chunked
	return req, nil
}

// sendPath returns the request target: the path of the RPC, or that of a surface or the
// base with the script's path below it.
func (it *iteration) sendPath(ctx context.Context, s *scenarios.Send) (string, error) {
	if s.RPC != "" {
		return it.in.target.Path(surface.Process, s.RPC), nil
	}
	rest, err := it.expand(ctx, s.Path)
	if err != nil {
		return "", err
	}
	path := it.in.target.Path(s.Surface, rest)
	query, err := it.query(ctx, s)
	if err == nil && (query != "" || s.Query != nil) {
		path += "?" + query
	}
	return path, err
}

// sendBody returns the body of a send and the header fields that follow from it.
func (it *iteration) sendBody(ctx context.Context, f call.Form, s *scenarios.Send) (rendered, headerPlan, error) {
	var p headerPlan
	switch {
	case s.Message != nil:
		json, err := it.jsonOf(ctx, it.in.marked(s))
		if err != nil {
			return rendered{}, p, err
		}
		p.compressed = f.Gzip()
		body, err := encode(f, call.Text{RPC: s.RPC, JSON: json})
		return rendered{entity: body, wire: body}, p, err
	case s.JSON != nil:
		json, err := it.jsonOf(ctx, s.JSON)
		p.contentType = "application/json"
		return rendered{entity: json, wire: json}, p, err
	case s.Multipart != nil:
		body, contentType, err := it.multipart(ctx, f, s.Multipart)
		p.contentType = contentType
		return rendered{entity: body, wire: body}, p, err
	}
	if len(s.Body) > 0 {
		p.contentType = surface.Of(s.Surface).Body
	}
	// Each envelope has a flag for compression, so a request of envelopes may declare
	// an encoding without using it; a body without envelopes must not.
	p.compressed = s.RPC != "" && f.Gzip() && f.Enveloped(s.RPC)
	body, err := rendering{it: it, rpc: cmp.Or(s.RPC, rawRPC), codec: f.Codec}.segments(ctx, s.Body)
	return body, p, err
}

// marked returns the message of a send, with the run's mark in the environment of the
// process that it starts, as in every start step. A message whose bytes the script
// counts stays as it is.
func (in *instance) marked(s *scenarios.Send) any {
	message, _ := s.Message.(map[string]any)
	config, _ := message["process"].(map[string]any)
	if s.RPC != call.ProcessStart || config["cmd"] == nil || s.ContentLength != nil || s.Split != nil && len(s.Split.At) > 0 {
		return s.Message
	}
	envs, set := config["envs"].(map[string]any)
	if _, named := config["envs"]; named && !set {
		return s.Message // the script tests another type here
	}
	marked := map[string]any{call.Mark: in.mark()}
	maps.Copy(marked, envs)
	message, config = maps.Clone(message), maps.Clone(config)
	config["envs"], message["process"] = marked, config
	return message
}

// frame adds the framing: a declared length, chunks, or nothing. A body with chunks of
// the script is sent as it is. On HTTP/2 DATA frames replace chunks, and END_STREAM
// replaces the last chunk.
//
// missing is what the request lacks by this framing: bytes of the declared length, or
// the last chunk (untilLast). Later writes may send it.
func frame(p *headerPlan, body *rendered, method string, s *scenarios.Send) (missing int64, err error) {
	framing := s.Framing
	if framing == "" {
		framing = framingLength
		if body.chunked {
			framing = framingChunked
		}
	}
	p.length = s.ContentLength // with chunks, or without a body, only if the script says so
	switch framing {
	case framingChunked:
		p.chunked = true
		if !body.chunked {
			body.wire, body.last = chunkedBody(body.wire), true
		}
		if !body.last {
			missing = untilLast
		}
	case framingLength:
		implied := p.form.HTTP2() && p.form.GRPC() && p.rpc != "" // gRPC clients do not declare it
		if p.length == nil && !implied && (len(body.wire) > 0 || method == "POST") {
			p.length = new(int64(len(body.wire)))
		}
	case framingNone:
	default:
		return 0, fmt.Errorf("framing %q is not one of length, chunked, none", s.Framing)
	}
	if p.length != nil && !p.chunked {
		missing = max(0, *p.length-int64(len(body.wire)))
	}
	if s.Finish == closeHalf {
		return 0, nil // the request ends here
	}
	return missing, nil
}

func (it *iteration) expandHeaders(ctx context.Context, headers map[string]*string) (map[string]*string, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	out := make(map[string]*string, len(headers))
	for _, name := range sortedKeys(headers) {
		if headers[name] == nil {
			out[name] = nil
			continue
		}
		value, err := it.expand(ctx, *headers[name])
		if err != nil {
			return nil, err
		}
		out[name] = &value
	}
	return out, nil
}
