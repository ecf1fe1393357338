package fakes

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
)

// The encodings of messages.
const (
	gzipName     = "gzip"
	identityName = "identity"
)

// negotiate reads the encoding of the request, chooses that of the answer, and
// tells connect-go only the choice. connect-go answers a compressed request
// compressed, whatever the client accepts, and knows neither quality values
// nor the case of names.
func (c *call) negotiate() error {
	sentName, acceptName := c.protocol.encodingNames(c.shape)
	sent := strings.TrimSpace(c.r.Header.Get(sentName))
	if !c.lax.exactEncodings {
		sent = strings.ToLower(sent)
	}
	switch sent {
	case "", identityName:
	case gzipName:
		c.encoding = gzipName
	default:
		return c.unknownEncoding(sent)
	}
	chosen := chooseEncoding(c.r.Header, acceptName, c.encoding)
	if c.lax.answersAsAsked {
		chosen = connectGoEncoding(c.r.Header.Get(acceptName), c.encoding)
	}
	if c.lax.neverCompresses {
		chosen = identityName
	}
	c.r.Header.Del(sentName)
	c.r.Header.Del(acceptName)
	if chosen == gzipName {
		c.r.Header.Set(acceptName, gzipName)
	}
	return nil
}

// unknownEncoding refuses an encoding, and says which are supported.
func (c *call) unknownEncoding(name string) error {
	if c.protocol.isGRPC() {
		c.w.Header().Set("Grpc-Accept-Encoding", gzipName)
	}
	if c.lax.emptyEncodingHeader && c.enveloped() && !c.protocol.isGRPC() {
		c.w.Header().Set("Connect-Content-Encoding", "")
	}
	return connect.NewError(connect.CodeUnimplemented,
		fmt.Errorf("unknown compression %q: supported encodings are %s", name, gzipName))
}

// chooseEncoding picks the encoding of an answer: the first of the client's
// list that is supported, in the order of quality values and then of the list;
// the request's own encoding when there is no list; and identity, which is
// always acceptable, when nothing else is.
func chooseEncoding(h http.Header, name, sent string) string {
	values, listed := h[name]
	if !listed {
		return sent
	}
	best, bestQ := identityName, 0.0
	for _, item := range strings.Split(strings.Join(values, ","), ",") {
		token, q := parseCoding(item)
		if (token == gzipName || token == identityName) && q > bestQ {
			best, bestQ = token, q
		}
	}
	return best
}

// connectGoEncoding is the choice of connect-go: the request's encoding, else
// the first of the list that it can compress.
func connectGoEncoding(accept, sent string) string {
	if sent != "" {
		return sent
	}
	for item := range strings.SplitSeq(accept, ",") {
		if strings.TrimSpace(item) == gzipName {
			return gzipName
		}
	}
	return identityName
}

// parseCoding splits "gzip;q=0.5". A quality that is no number counts as 1, for
// quality values are not part of the protocol and must not break a call.
func parseCoding(item string) (token string, q float64) {
	token, params, _ := strings.Cut(item, ";")
	q = 1
	if v, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(params), " ", ""), "q="); ok {
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			q = f
		}
	}
	return strings.ToLower(strings.TrimSpace(token)), q
}

// readMessage reads a whole body as one message of an encoding.
func readMessage(body io.Reader, encoding string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
	if err != nil {
		return nil, readError(err)
	}
	if len(raw) > maxMessage {
		return nil, tooLarge()
	}
	if encoding != gzipName {
		return raw, nil
	}
	return gunzip(raw, connect.CodeInvalidArgument)
}

// gunzip decompresses one message; corrupt is the code for what is not gzip.
// An empty message is not compressed at all.
func gunzip(raw []byte, corrupt connect.Code) ([]byte, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, connect.NewError(corrupt, fmt.Errorf("decompress: %w", err))
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxMessage+1))
	if err != nil {
		return nil, connect.NewError(corrupt, fmt.Errorf("decompress: %w", err))
	}
	if len(plain) > maxMessage {
		return nil, tooLarge()
	}
	return plain, nil
}

// tooLarge refuses a message over the limit, which counts after decompression.
func tooLarge() error {
	return connect.NewError(connect.CodeResourceExhausted,
		fmt.Errorf("message is larger than the limit of %d bytes", maxMessage))
}
