package strict

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// methodKey is the key of the HTTP method of a call that came by GET.
type methodKey struct{}

// HTTPMethod returns the HTTP method of a call.
func HTTPMethod(ctx context.Context) string {
	if m, ok := ctx.Value(methodKey{}).(string); ok {
		return m
	}
	return http.MethodPost
}

// serveGet serves a unary call by GET: the query holds the message and the values that a POST
// has in headers. connect-go gets the equivalent POST, so that one strict layer is enough.
func (s *procedures) serveGet(c *Call) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	c.w.Header().Add("Vary", "Accept-Encoding")
	codec := query.Get("encoding")
	m, ok := parseMediaType("application/"+codec, unary)
	c.setType(m)
	if err == nil && (!ok || c.Protocol != Connect || c.Codec != codec) {
		refuseType(c.w, c.Request, unary)
		return
	}
	if err == nil {
		err = c.fromQuery(query)
	} else {
		err = invalid("the query of the URL cannot be read: %v", err)
	}
	if err != nil {
		s.refuse(c, err)
		return
	}
	s.run(c)
}

// fromQuery turns the GET into the POST.
func (c *Call) fromQuery(query url.Values) error {
	if v, ok := query["connect"]; ok && (len(v) > 1 || v[0] != "v1") {
		return invalid("the query parameter connect must be \"v1\": got %q", v)
	}
	if err := noBody(c.Request); err != nil {
		return err
	}
	values, ok := query["message"]
	if !ok || len(values) > 1 {
		return invalid("the query needs one parameter message: got %d", len(values))
	}
	message := []byte(values[0])
	if query.Get("base64") == "1" {
		var err error
		if message, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(values[0], "=")); err != nil {
			return invalid("the query parameter message is not URL-safe base64: %v", err)
		}
	}
	r := c.Request.Clone(context.WithValue(c.Request.Context(), methodKey{}, http.MethodGet))
	r.Method = http.MethodPost
	r.Header.Set("Content-Type", c.canonical)
	r.Header.Del("Content-Encoding")
	if compression := query.Get("compression"); compression != "" {
		r.Header.Set("Content-Encoding", compression)
	}
	r.Body = io.NopCloser(bytes.NewReader(message))
	r.ContentLength = int64(len(message))
	c.Request = r
	return nil
}

// noBody refuses a body: the message of a GET is in its query.
func noBody(r *http.Request) error {
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	switch {
	case n > 0:
		return invalid("a call by GET has no body: its message is in the query")
	case !errors.Is(err, io.EOF):
		return readError(err)
	default:
		return nil
	}
}
