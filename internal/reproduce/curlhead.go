package reproduce

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/bundle"
)

// framed converts the output of `curl -i` for an HTTP/2 response back into frames for the
// decoder: SETTINGS, HEADERS, DATA, and HEADERS of trailers.
func framed(p []byte) ([]byte, error) {
	status, fields, rest, err := curlHead(p)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	f := http2.NewFramer(&out, nil)
	body, trailers := curlBody(fields, rest)
	_ = f.WriteSettings() // a buffer never fails
	all := append([]bundle.Header{{Name: ":status", Value: status}}, fields...)
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(all), EndHeaders: true})
	for len(body) > 0 {
		n := min(len(body), 16<<10)
		_ = f.WriteData(1, len(trailers) == 0 && n == len(body), body[:n])
		body = body[n:]
	}
	if len(trailers) > 0 {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(trailers), EndHeaders: true, EndStream: true})
	} else if len(rest) == 0 {
		_ = f.WriteData(1, true, nil)
	}
	return out.Bytes(), nil
}

// block encodes a header block.
func block(fields []bundle.Header) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range fields {
		_ = e.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value})
	}
	return b.Bytes()
}

// curlHead reads the last head in curl's output, which is the final one.
func curlHead(p []byte) (status string, fields []bundle.Header, rest []byte, err error) {
	for {
		head, after, ok := bytes.Cut(p, []byte("\r\n\r\n"))
		line, text, _ := strings.Cut(string(head), "\r\n")
		word, number, _ := strings.Cut(line, " ")
		status, _, _ = strings.Cut(number, " ")
		if n, bad := strconv.Atoi(status); !ok || word != "HTTP/2" || bad != nil || n < 100 || n > 999 {
			return "", nil, nil, fmt.Errorf("curl printed %q, which is not the head of an HTTP/2 response", clip(line))
		}
		if status[0] == '1' {
			p = after
			continue
		}
		return status, headerLines(text), after, nil
	}
}

// curlBody splits the output after the head: bytes beyond a declared length are trailers.
func curlBody(fields []bundle.Header, rest []byte) (body []byte, trailers []bundle.Header) {
	for _, f := range fields {
		if n, err := strconv.Atoi(f.Value); f.Name == "content-length" && err == nil && n >= 0 && n < len(rest) {
			return rest[:n], headerLines(string(rest[n:]))
		}
	}
	return rest, nil
}

func headerLines(text string) []bundle.Header {
	var out []bundle.Header
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			out = append(out, bundle.Header{Name: strings.ToLower(name), Value: strings.TrimPrefix(value, " ")})
		}
	}
	return out
}

// clip truncates a text for a message.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
