package zoo

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/fakes/strict"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/wire"
)

// requestFaults returns the faults in reading requests. They run before the
// strict layer and pass it a valid request.
func requestFaults() []fault {
	return []fault{
		{Fault{
			ID:     "version-ignored",
			Title:  "A request of an unknown protocol version is served",
			Breaks: []string{"connect.version.unknown-unary", "connect.version.unknown-stream"},
			Source: "a mutant that connectrpc/conformance does not kill: no case sends another version",
		}, onRequest(func(r *http.Request) { r.Header.Del("Connect-Protocol-Version") })},
		{Fault{
			ID:     "path-any-case",
			Title:  "A procedure is also found under its path in lower case",
			Breaks: []string{"connect.route.case-sensitive"},
			Source: "routers of hand-written gateways; connectrpc/conformance has no case for it",
		}, onRequest(ignoreCase)},
		{Fault{
			ID:     "get-executes",
			Title:  "A procedure with side effects can be called by GET",
			Breaks: []string{"connect.route.get-not-executed", "connect.route.stream-post-only", "grpc.route.post-only"},
			Source: "a mutant that connectrpc/conformance does not kill: verbs on streams are not tested",
		}, onRequest(func(r *http.Request) {
			if r.Method == http.MethodGet && isProcedure(r.URL.Path) {
				r.Method = http.MethodPost
			}
		})},
		{Fault{
			ID:     "second-message-ignored",
			Title:  "Of two request messages, the first is used",
			Breaks: []string{"connect.stream.two-request-messages", "connect.stream.envelope-complete"},
			Source: "hand-written gateways that parse the first envelope of a body only",
		}, onStreamBody(firstMessage)},
		{Fault{
			ID:     "length-ignored",
			Title:  "The bytes that arrive count as the message, whatever length is declared",
			Breaks: []string{"connect.stream.envelope-complete"},
			Source: "hand-written gateways that cut five bytes off a body; a mutant that connectrpc/conformance does not kill",
		}, onStreamBody(wholeBody)},
		{Fault{
			ID:     "compressed-flag-ignored",
			Title:  "A compressed request message is read as if it were plain",
			Breaks: []string{"connect.compression.message"},
			Source: "mattrobenolt/connect-python#11",
		}, onStreamBody(clearCompressed)},
		{Fault{
			ID:     "unknown-codec-as-json",
			Title:  "An unknown streaming codec is treated as JSON",
			Breaks: []string{"connect.type.unknown-stream-codec", "connect.stream.content-type"},
			Source: "a mutant that connectrpc/conformance does not kill: connectrpc.com#169",
		}, onRequest(func(r *http.Request) {
			if v := r.Header.Get("Content-Type"); strings.HasPrefix(v, "application/connect+") && v != "application/connect+proto" {
				r.Header.Set("Content-Type", "application/connect+json")
			}
		})},
		{Fault{
			ID:     "empty-body-decompressed",
			Title:  "An empty body with Content-Encoding is decompressed, which fails",
			Breaks: []string{"connect.compression.empty-body"},
			Source: "a mutant that connectrpc/conformance does not kill",
		}, onRequest(func(r *http.Request) {
			if r.ContentLength == 0 && r.Header.Get("Content-Encoding") == "gzip" {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("\x00")), 1
			}
		})},
		{Fault{
			ID:     "request-collected",
			Title:  "Streamed input is applied only when the whole request has arrived",
			Breaks: []string{"process.stream-input.as-it-arrives"},
			Source: "AgentENV/cube-gateway and proxies that buffer requests before they pass them on",
		}, onRequest(func(r *http.Request) {
			if r.URL.Path == processconnect.ProcessStreamInputProcedure {
				r.Body = io.NopCloser(&collected{from: r.Body})
			}
		})},
		{Fault{
			ID:     "bad-base64-as-empty",
			Title:  "Input that is not base64 is treated as empty",
			Breaks: []string{"connect.unary.bytes-are-base64"},
			Source: "bounty-challenge#19351",
		}, func(b *build) { b.Seams.JSON.Read = badBytesEmpty }},
	}
}

// onRequest changes every request before anything else sees it.
func onRequest(change func(*http.Request)) func(*build) {
	return onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r = r.Clone(r.Context())
		change(r)
		next.ServeHTTP(w, r)
	})
}

// onStreamBody changes the envelopes of Connect streams.
func onStreamBody(change func(io.Reader) io.Reader) func(*build) {
	return onRequest(func(r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/connect+") {
			r.Body, r.ContentLength = io.NopCloser(change(r.Body)), -1
		}
	})
}

// procedures returns the paths of the process service.
func procedures() []string {
	return strict.Procedures(envd.File_process_process_proto.Services().ByName("Process"))
}

// isProcedure reports whether a path, in any case, is one of the process
// service.
func isProcedure(path string) bool {
	return slices.Contains(procedures(), path)
}

// ignoreCase gives a path the case of the procedure that it names.
func ignoreCase(r *http.Request) {
	for _, path := range procedures() {
		if strings.EqualFold(path, r.URL.Path) {
			r.URL.Path = path
		}
	}
}

// collected returns nothing until the whole body has arrived.
type collected struct {
	from  io.Reader
	whole *bytes.Reader
}

func (c *collected) Read(p []byte) (int, error) {
	if c.whole == nil {
		all, err := io.ReadAll(io.LimitReader(c.from, strict.MaxMessage))
		if err != nil {
			return 0, err
		}
		c.whole = bytes.NewReader(all)
	}
	return c.whole.Read(p)
}

// firstMessage ends a body after its first envelope.
func firstMessage(body io.Reader) io.Reader {
	var head [wire.HeaderSize]byte
	n, _ := io.ReadFull(body, head[:])
	if n < len(head) {
		return bytes.NewReader(head[:n])
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	payload, _ := io.ReadAll(io.LimitReader(body, min(size, strict.MaxMessage)))
	// Reading the rest keeps the connection usable.
	_, _ = io.Copy(io.Discard, io.LimitReader(body, strict.MaxMessage))
	return io.MultiReader(bytes.NewReader(head[:]), bytes.NewReader(payload))
}

// wholeBody makes one envelope of everything after the first header.
func wholeBody(body io.Reader) io.Reader {
	raw, _ := io.ReadAll(io.LimitReader(body, strict.MaxMessage))
	if len(raw) <= wire.HeaderSize {
		return bytes.NewReader(raw)
	}
	return bytes.NewReader(wire.AppendEnvelope(nil, raw[0], raw[wire.HeaderSize:]))
}

// clearCompressed clears the compressed bit of the first envelope.
func clearCompressed(body io.Reader) io.Reader {
	var flags [1]byte
	n, _ := io.ReadFull(body, flags[:])
	flags[0] &^= wire.FlagCompressed
	return io.MultiReader(bytes.NewReader(flags[:n]), body)
}

// inputText matches an input field in JSON.
var inputText = regexp.MustCompile(`"(stdin|pty)"\s*:\s*"[^"]*"`)

// badBytesEmpty reads input that is not base64 as empty.
func badBytesEmpty(data []byte, m proto.Message) error {
	read := protojson.UnmarshalOptions{DiscardUnknown: true}
	if err := read.Unmarshal(data, m); err == nil {
		return nil
	}
	proto.Reset(m)
	return read.Unmarshal(inputText.ReplaceAll(data, []byte(`"$1":""`)), m)
}
