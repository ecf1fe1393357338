package strict

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"connectrpc.com/connect"
)

// The encodings of messages.
const (
	gzipName     = "gzip"
	identityName = "identity"
)

// ErrUnknownEncoding reports an unsupported encoding.
var ErrUnknownEncoding = errors.New("unknown compression")

// negotiate reads the encoding of the request, chooses that of the response, and
// passes only the choice to connect-go. By itself, connect-go compresses the
// response to every compressed request, whatever the client accepts, compares
// names with case, and ignores quality values.
func (c *Call) negotiate() error {
	sentName, acceptName := c.Protocol.encodingNames(c.method.shape)
	sent := c.policy.EncodingName(strings.TrimSpace(c.Request.Header.Get(sentName)))
	switch sent {
	case "", identityName:
	case gzipName:
		c.encoded = gzipName
	default:
		return c.unknownEncoding(sent)
	}
	chosen := c.policy.ChooseEncoding(c.Request.Header[acceptName], c.encoded)
	c.Request.Header.Del(sentName)
	c.Request.Header.Del(acceptName)
	if chosen == gzipName {
		c.Request.Header.Set(acceptName, gzipName)
	}
	return nil
}

// unknownEncoding returns an error that names the supported encodings.
func (c *Call) unknownEncoding(name string) error {
	if c.Protocol.IsGRPC() {
		c.w.Header().Set("Grpc-Accept-Encoding", gzipName)
	}
	return connect.NewError(connect.CodeUnimplemented,
		fmt.Errorf("%w %q: supported encodings are %s", ErrUnknownEncoding, name, gzipName))
}

// chooseEncoding picks the first supported encoding of the client's list,
// ordered by quality value and then by position. Without a list it picks the
// encoding of the request. It picks identity when nothing else is acceptable.
func chooseEncoding(accept []string, sent string) string {
	if accept == nil {
		return sent
	}
	best, bestQ := identityName, 0.0
	for _, item := range strings.Split(strings.Join(accept, ","), ",") {
		token, q := Quality(item)
		if (token == gzipName || token == identityName) && q > bestQ {
			best, bestQ = token, q
		}
	}
	return best
}

// Quality splits an item such as "gzip;q=0.5" of a list. An invalid quality counts as 1,
// because quality values are not part of the protocol and must not break a call.
func Quality(item string) (token string, q float64) {
	token, params, _ := strings.Cut(item, ";")
	q = 1
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if f, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && strings.EqualFold(strings.TrimSpace(name), "q") {
			q = f
		}
	}
	return strings.ToLower(strings.TrimSpace(token)), q
}

// ReadBody reads a whole body of at most MaxMessage bytes.
func ReadBody(body io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, MaxMessage+1))
	if err != nil {
		return nil, readError(err)
	}
	if len(raw) > MaxMessage {
		return nil, tooLarge()
	}
	return raw, nil
}

// gunzip decompresses one message; corrupt is the error code for invalid gzip
// data. An empty message is never compressed.
func gunzip(raw []byte, corrupt connect.Code) ([]byte, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, connect.NewError(corrupt, fmt.Errorf("decompress: %w", err))
	}
	plain, err := io.ReadAll(io.LimitReader(r, MaxMessage+1))
	if err != nil {
		return nil, connect.NewError(corrupt, fmt.Errorf("decompress: %w", err))
	}
	if len(plain) > MaxMessage {
		return nil, tooLarge()
	}
	return plain, nil
}

// tooLarge refuses a message over the limit, which also applies after
// decompression.
func tooLarge() error {
	return connect.NewError(connect.CodeResourceExhausted,
		fmt.Errorf("message is larger than the limit of %d bytes", MaxMessage))
}
