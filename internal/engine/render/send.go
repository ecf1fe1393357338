package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// The framings of the body of a send.
const (
	framingLength  = "length"
	framingChunked = "chunked"
	FramingNone    = "none"
)

// finishHalf ends our side of the connection after the request.
const finishHalf = "half"

// send renders a request of any form. Everything that the script leaves open is
// well-formed.
func (r Renderer) send(f call.Form, s *scenarios.Send) (Request, error) {
	f.Shape = call.Shape(s.Shape)
	body, plan, err := r.body(f, s)
	if err != nil {
		return Request{}, err
	}
	method := s.Method
	if method == "" {
		method = "GET"
		if s.RPC != "" || len(body.Wire) > 0 {
			method = "POST"
		}
	}
	c := transport.Call{
		RPC: s.RPC, Surface: s.Surface, Codec: call.JSON, Shape: surface.Of(s.Surface).Shape(method, s.Path),
		Method: method, Path: r.path(s), Body: body.Entity,
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
		return Request{}, err
	}
	plan.overrides = s.Headers
	c.Headers = r.headers(plan)
	req := assemble(c, f, body.Wire)
	if req.HTTP2 {
		req.Content = body.Entity
	}
	req.Missing, req.Chunked = missing, plan.chunked
	return req, nil
}

// path returns the request target: the path of the RPC, or that of a surface or the
// base with the script's path below it.
func (r Renderer) path(s *scenarios.Send) string {
	if s.RPC != "" {
		return r.Target.Path(surface.Process, s.RPC)
	}
	path := r.Target.Path(s.Surface, s.Path)
	if query := r.query(s); query != "" || s.Query != nil {
		path += "?" + query
	}
	return path
}

// body returns the body of a send and the header fields that follow from it.
func (r Renderer) body(f call.Form, s *scenarios.Send) (Body, fields, error) {
	var p fields
	switch {
	case s.Message != nil:
		json, err := r.json(r.marked(s))
		if err != nil {
			return Body{}, p, err
		}
		p.compressed = f.Gzip()
		body, err := encode(f, call.Text{RPC: s.RPC, JSON: json})
		return Body{Entity: body, Wire: body}, p, err
	case s.JSON != nil:
		json, err := r.json(s.JSON)
		p.contentType = "application/json"
		return Body{Entity: json, Wire: json}, p, err
	case s.Multipart != nil:
		body, contentType, err := r.multipart(f, s.Multipart)
		p.contentType = contentType
		return Body{Entity: body, Wire: body}, p, err
	}
	if len(s.Body) > 0 {
		p.contentType = surface.Of(s.Surface).Body
	}
	// Each envelope has a flag for compression, so a request of envelopes may declare
	// an encoding without using it; a body without envelopes must not.
	p.compressed = s.RPC != "" && f.Gzip() && f.Enveloped(s.RPC)
	body, err := rendering{r, cmp.Or(s.RPC, anyRPC), f.Codec}.segments(s.Body)
	return body, p, err
}

// marked returns the message of a send, with the run's mark in the environment of the
// process that it starts, as in every start step. A message whose bytes the script
// counts stays as it is.
func (r Renderer) marked(s *scenarios.Send) any {
	message, _ := s.Message.(map[string]any)
	config, _ := message["process"].(map[string]any)
	if s.RPC != call.ProcessStart || config["cmd"] == nil || s.ContentLength != nil || s.Split != nil && len(s.Split.At) > 0 {
		return s.Message
	}
	envs, set := config["envs"].(map[string]any)
	if _, named := config["envs"]; named && !set {
		return s.Message // the script tests another type here
	}
	marked := map[string]any{call.Mark: r.Mark()}
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
// the last chunk (UntilLast). Later writes may send it.
func frame(p *fields, body *Body, method string, s *scenarios.Send) (missing int64, err error) {
	framing := s.Framing
	if framing == "" {
		framing = framingLength
		if body.Chunked {
			framing = framingChunked
		}
	}
	p.length = s.ContentLength // with chunks, or without a body, only if the script says so
	switch framing {
	case framingChunked:
		p.chunked = true
		if !body.Chunked {
			body.Wire, body.Last = chunkedBody(body.Wire), true
		}
		if !body.Last {
			missing = UntilLast
		}
	case framingLength:
		implied := p.form.HTTP2() && p.form.GRPC() && p.rpc != "" // gRPC clients do not declare it
		if p.length == nil && !implied && (len(body.Wire) > 0 || method == "POST") {
			p.length = new(int64(len(body.Wire)))
		}
	case FramingNone:
	default:
		return 0, fmt.Errorf("framing %q is not one of length, chunked, none", s.Framing)
	}
	if p.length != nil && !p.chunked {
		missing = max(0, *p.length-int64(len(body.Wire)))
	}
	if s.Finish == finishHalf {
		return 0, nil // the request ends here
	}
	return missing, nil
}

// query returns the query of a send, with its signature, "" for none.
func (r Renderer) query(s *scenarios.Send) string {
	values := map[string]string{}
	switch {
	case s.Query != nil && s.Query.Text != nil:
		return *s.Query.Text
	case s.Query != nil:
		maps.Copy(values, s.Query.Values)
	}
	if s.Sign != nil {
		signed := r.sign(s.Sign, values)
		maps.Copy(signed, values)
		values = signed
	}
	var pairs []call.Parameter
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, call.Parameter{Name: name, Value: values[name]})
	}
	return call.EncodeParameters(pairs)
}

// sign returns the query values of a signature.
func (r Renderer) sign(s *scenarios.Sign, query map[string]string) map[string]string {
	words := []string{query["path"], s.Operation, query["username"], r.Token()}
	for i, own := range map[int]*string{0: s.Path, 2: s.Username, 3: s.Token} {
		if own != nil {
			words[i] = *own
		}
	}
	out := map[string]string{}
	if s.Expires != nil {
		at := strconv.FormatInt(time.Now().Unix()+*s.Expires, 10)
		words = append(words, at)
		out["signature_expiration"] = at
	}
	sum := sha256.Sum256([]byte(strings.Join(words, ":")))
	out["signature"] = "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
	return out
}

// boundary delimits the parts of the bodies of scripts; their contents do not have it.
const boundary = "assay-boundary-6b1f0c92"

// quoteName escapes a name in a Content-Disposition as browsers do.
var quoteName = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

// multipart renders a multipart/form-data body and its content type.
func (r Renderer) multipart(f call.Form, m *scenarios.Multipart) (body []byte, contentType string, err error) {
	var b strings.Builder
	for i := range m.Parts {
		p := &m.Parts[i]
		name := p.Name
		if name == "" {
			name = "file"
		}
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + quoteName.Replace(name) + `"`)
		if p.Filename != nil {
			b.WriteString(`; filename="` + quoteName.Replace(*p.Filename) + `"`)
		}
		kind := p.Type
		if kind == "" {
			kind = "application/octet-stream"
		}
		content, err := rendering{r, anyRPC, f.Codec}.segments(p.Of)
		if err != nil {
			return nil, "", err
		}
		b.WriteString("\r\nContent-Type: " + kind + "\r\n\r\n")
		b.Write(content.Entity)
		b.WriteString("\r\n")
	}
	if !m.Open {
		b.WriteString("--" + boundary + "--\r\n")
	}
	contentType = "multipart/form-data; boundary=" + boundary
	switch {
	case m.Boundary != nil && *m.Boundary == "":
		contentType = "multipart/form-data"
	case m.Boundary != nil:
		contentType = "multipart/form-data; boundary=" + *m.Boundary
	}
	return []byte(b.String()), contentType, nil
}

// Token returns the access token that requests carry, "" without one.
func (r Renderer) Token() string {
	for _, h := range r.Target.Headers(r.Scenario, r.Run) {
		if strings.EqualFold(h.Name, "X-Access-Token") {
			return h.Value
		}
	}
	return ""
}
