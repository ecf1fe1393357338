package engine

import (
	"cmp"
	"context"
	"fmt"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/scenarios"
)

// How the body of a send is framed.
const (
	framingLength  = "length"
	framingChunked = "chunked"
	framingNone    = "none"
)

func (it *iteration) sendPlan(s *scenarios.Send) callPlan {
	return callPlan{
		op: "send", as: s.As, split: s.Split, on: s.On, finish: s.Finish, wait: s.Wait, within: s.Within,
		build: func(ctx context.Context) (request, error) { return it.sendRequest(ctx, s) },
	}
}

// sendRequest renders a request of any form. What the script does not say is
// that of a well-formed request.
func (it *iteration) sendRequest(ctx context.Context, s *scenarios.Send) (request, error) {
	path, err := it.sendPath(ctx, s)
	if err != nil {
		return request{}, err
	}
	shape := bundle.ShapePlain
	if s.RPC != "" {
		shape = transport.ShapeOf(s.RPC)
	}
	body, plan, err := it.sendBody(ctx, s, shape)
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
	surface, codec := s.Surface, codecJSON
	if s.RPC != "" {
		surface, codec = surfaceProcess, it.in.axes.Codec
		plan.rpc = true
		plan.stream = shape == bundle.ShapeStream
		plan.contentType = it.in.contentType(shape)
		plan.accept = it.in.accepted()
	} else {
		shape = surfaceShape(s.Surface, method, s.Path)
	}
	if err := frame(&plan, &body, method, s); err != nil {
		return request{}, err
	}
	if plan.overrides, err = it.expandHeaders(ctx, s.Headers); err != nil {
		return request{}, err
	}
	return assemble(transport.Call{
		RPC: s.RPC, Surface: surface, Shape: shape, Codec: codec,
		Method: method, Path: path, Headers: it.in.headers(plan), Body: body.entity,
	}, body.wire), nil
}

// sendPath is the request target: the RPC's path, or that of a surface or the
// base with the script's path below it.
func (it *iteration) sendPath(ctx context.Context, s *scenarios.Send) (string, error) {
	if s.RPC != "" {
		return it.in.target.Path(surfaceProcess, s.RPC), nil
	}
	rest, err := it.expand(ctx, s.Path)
	if err != nil {
		return "", err
	}
	return it.in.target.Path(s.Surface, rest), nil
}

// sendBody is the body of a send, and what follows from it for the headers.
func (it *iteration) sendBody(ctx context.Context, s *scenarios.Send, shape bundle.Shape) (rendered, headerPlan, error) {
	var p headerPlan
	switch {
	case s.Message != nil:
		json, err := it.jsonOf(ctx, s.Message)
		if err != nil {
			return rendered{}, p, err
		}
		p.compressed = it.in.axes.Compression == compressionGzip
		body, err := it.in.message(s.RPC, json)
		return rendered{entity: body, wire: body}, p, err
	case s.JSON != nil:
		json, err := it.jsonOf(ctx, s.JSON)
		p.contentType = "application/json"
		return rendered{entity: json, wire: json}, p, err
	}
	if s.Surface == surfaceCommands && len(s.Body) > 0 {
		p.contentType = "application/json"
	}
	// Flags say of each envelope whether it is compressed, so a stream may declare
	// an encoding without using it; for a unary body that would be a lie.
	p.compressed = it.in.axes.Compression == compressionGzip && shape == bundle.ShapeStream
	body, err := rendering{it: it, rpc: cmp.Or(s.RPC, rawRPC)}.segments(ctx, s.Body)
	return body, p, err
}

// frame adds the framing: a declared length, chunks, or nothing. A body whose
// script has chunks of its own is sent as it is.
func frame(p *headerPlan, body *rendered, method string, s *scenarios.Send) error {
	framing := s.Framing
	if framing == "" {
		framing = framingLength
		if body.chunked {
			framing = framingChunked
		}
	}
	switch framing {
	case framingChunked:
		p.chunked = true
		if !body.chunked {
			body.wire = chunkedBody(body.wire)
		}
		p.length = s.ContentLength // both, only when the script says so
	case framingLength:
		p.length = s.ContentLength
		if p.length == nil && (len(body.wire) > 0 || method == "POST") {
			p.length = new(int64(len(body.wire)))
		}
	case framingNone:
		p.length = s.ContentLength
	default:
		return fmt.Errorf("framing %q is not one of length, chunked, none", s.Framing)
	}
	return nil
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
