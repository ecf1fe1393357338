package reproduce

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// framed converts the output of `curl -i` for an HTTP/2 response back into frames for the
// decoder: SETTINGS, HEADERS, DATA, and HEADERS of trailers.
func framed(p []byte) ([]byte, error) {
	status, fields, rest, err := curlHead(p)
	if err != nil {
		return nil, err
	}
	const stream = 1
	body, trailers := curlBody(fields, rest)
	head := append([]wire.Field{{Name: ":status", Value: status}}, fields...)
	out := h2.Block{Stream: stream, Fields: h2.EncodeFields(head...)}.Append(h2.AppendSettings(nil), h2.DefaultMaxFrame)
	if len(trailers) == 0 && len(body) == 0 {
		out = h2.AppendData(out, stream, nil, true)
	}
	for len(body) > 0 {
		n := min(len(body), h2.DefaultMaxFrame)
		out = h2.AppendData(out, stream, body[:n], len(trailers) == 0 && n == len(body))
		body = body[n:]
	}
	if len(trailers) > 0 {
		out = h2.Block{Stream: stream, Fields: h2.EncodeFields(trailers...), EndStream: true}.Append(out, h2.DefaultMaxFrame)
	}
	return out, nil
}

// curlHead reads the last head in curl's output, which is the final one.
func curlHead(p []byte) (status string, fields []wire.Field, rest []byte, err error) {
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
func curlBody(fields []wire.Field, rest []byte) (body []byte, trailers []wire.Field) {
	for _, f := range fields {
		if n, err := strconv.Atoi(f.Value); f.Name == "content-length" && err == nil && n >= 0 && n < len(rest) {
			return rest[:n], headerLines(string(rest[n:]))
		}
	}
	return rest, nil
}

func headerLines(text string) []wire.Field {
	var out []wire.Field
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			out = append(out, wire.Field{Name: strings.ToLower(name), Value: strings.TrimPrefix(value, " ")})
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
