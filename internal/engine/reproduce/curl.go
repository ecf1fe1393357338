package reproduce

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// errNotUnary and the other errors of curl say why there is no curl line.
var errNotUnary = errors.New("not a unary call over HTTP")

// curl writes a source as a curl line: the same call, with the header fields in curl's
// order. It prints the head and the body unchanged.
func (s *source) curl(d Dialing, secrets []secretHeader) (string, error) {
	if err := s.asCurl(); err != nil {
		return "", err
	}
	r := &s.x.Request
	words := []string{"curl -sS -i --raw -g --path-as-is", "--max-time " + strconv.Itoa(s.hold()+1), s.version()}
	switch {
	case d.Secure && d.Insecure:
		words = append(words, "-k")
	case d.Secure && d.CACert != "":
		words = append(words, "--cacert "+quoteWord(d.CACert))
	}
	switch {
	case r.Method == "HEAD":
		words = append(words, "-I")
	case r.Method == "GET" && r.Body.Len == 0:
	default:
		words = append(words, "-X "+quoteWord(r.Method))
	}
	fields, err := s.fieldWords(secrets)
	if err != nil {
		return "", err
	}
	lead, body := dataWords(r)
	words = append(append(words, fields.words...), body...)
	words = append(words, quoteWord(strings.TrimSuffix(originOf(d.URL), "/")+r.Path))
	return fields.around(lead, strings.Join(words, " ")) + "\n", nil
}

// originOf returns scheme and authority of a URL.
func originOf(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// asCurl returns an error if curl cannot make the call.
func (s *source) asCurl() error {
	x := s.x
	switch {
	case x == nil || x.Op == bundle.OpRaw || len(s.exchanges) != 1:
		return errNotUnary
	case x.Shape != bundle.ShapeUnary && x.Shape != bundle.ShapePlain, x.Protocol != "" && x.Protocol != call.Connect:
		return errNotUnary
	case !x.Request.Body.Whole():
		return errors.New("the record does not have the whole body")
	}
	if st := s.step(); st != nil && st.Send != nil && st.Send.Split != nil {
		return errors.New("the request is split")
	}
	if s.http2() {
		for _, f := range s.conn.H2 {
			if f.Dir == "sent" && !slices.Contains([]string{"SETTINGS", "WINDOW_UPDATE", "PING", "HEADERS", "DATA", "preface"}, f.Type) {
				return fmt.Errorf("the request has a frame %s", f.Type)
			}
		}
		return s.sameLength()
	}
	head, rest, ok := bytes.Cut(s.conn.Sent.Data, []byte("\r\n\r\n"))
	if !ok || !bytes.HasPrefix(head, []byte(x.Request.Method+" "+x.Request.Path+" HTTP/1.1\r\n")) {
		return errors.New("curl cannot send these bytes")
	}
	if !bytes.Equal(rest, x.Request.Body.Data) {
		return errors.New("curl cannot frame its body like this")
	}
	return s.sameLength()
}

// sameLength returns an error if the declared length is wrong.
func (s *source) sameLength() error {
	for _, h := range s.x.Request.Headers {
		if strings.EqualFold(h.Name, "content-length") && h.Value != strconv.FormatInt(s.x.Request.Body.Len, 10) {
			return errors.New("the declared length differs from the body")
		}
		if strings.ContainsFunc(h.Name+h.Value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return errors.New("a header field has characters that curl does not send")
		}
	}
	return nil
}

// step returns the step that made the exchange, or nil.
func (s *source) step() *scenarios.Step {
	var found *scenarios.Step
	s.Instance.Scenario.EachStep(func(st *scenarios.Step) {
		if st.At == s.x.Step && found == nil {
			found = st
		}
	})
	return found
}

// version returns the option for the HTTP version.
func (s *source) version() string {
	switch s.conn.HTTP {
	case "h2c":
		return "--http2-prior-knowledge"
	case "h2-tls":
		return "--http2"
	}
	return "--http1.1"
}

// curlHeaders returns the sent fields, and empty ones for those that curl would add.
func (s *source) curlHeaders() []bundle.Header {
	var out []bundle.Header
	has := map[string]bool{"content-length": true}
	for _, h := range s.x.Request.Headers {
		name := strings.ToLower(h.Name)
		if name == "content-length" || strings.HasPrefix(name, ":") {
			continue
		}
		has[name] = true
		out = append(out, h)
	}
	for _, own := range []string{"Accept", "User-Agent", "Content-Type"} {
		adds := own == "Accept" || own == "User-Agent" || s.x.Request.Body.Len > 0
		if adds && !has[strings.ToLower(own)] {
			out = append(out, bundle.Header{Name: own + ":"})
		}
	}
	return out
}

// dataWords returns the words that pass the body to curl; printf writes binary data.
func dataWords(r *bundle.Request) (lead string, words []string) {
	data := r.Body.Data
	switch {
	case r.Body.Len == 0 && (r.Method == "GET" || r.Method == "HEAD"):
		return "", nil
	case len(data) == 0:
		return "", []string{"--data-binary ''"}
	case data[0] != '@' && bytes.IndexFunc(data, func(r rune) bool { return r < 0x20 || r > 0x7e }) < 0:
		return "", []string{"--data-binary " + quoteWord(string(data))}
	}
	var b strings.Builder
	b.WriteString("printf '")
	for i, c := range data {
		b.WriteString(escape(c, i == 0))
	}
	b.WriteString("'")
	return b.String(), []string{"--data-binary @-"}
}
