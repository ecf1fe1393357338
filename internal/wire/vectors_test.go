package wire

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// minVectors is the minimum number of vectors that test our strictness.
const minVectors = 30

// A vector is bytes of another origin, with their meaning. Its comment has lines "key:
// value": origin (the source of the bytes), decoder (envelope, line, end-stream, error,
// response, connect, grpc, grpc-web, grpc-status, web-trailers, answer-grpc-web, ws, ws-client,
// ws-upgrade, ws-stdio), and if needed limit, methods, rsv and protocols. In the file input
// every line is Go-quoted text or hexadecimal bytes; expect holds the trace, without texts.
type vector struct {
	header map[string]string
	input  []byte
	expect []string
}

func TestVectorsFromOutsideDecodeAsTheirOriginSays(t *testing.T) {
	files, err := filepath.Glob("../../testdata/wire/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < minVectors {
		t.Errorf("%d vectors, want at least %d", len(files), minVectors)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			v := readVector(t, file)
			if v.header["origin"] == "" {
				t.Error("the vector does not name its origin")
			}
			splits(v.input, func(chunks [][]byte) bool {
				got := v.decode(t, chunks)
				if !slices.Equal(got, v.expect) {
					t.Errorf("split %q\n got:\n%s\nwant:\n%s", chunks, strings.Join(got, "\n"), strings.Join(v.expect, "\n"))
				}
				return !t.Failed()
			})
		})
	}
}

func readVector(t *testing.T, file string) vector {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	v := vector{header: map[string]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			v.header[key] = value
		}
	}
	for _, f := range archive.Files {
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSuffix(line, "\n")
			switch f.Name {
			case "input":
				v.input = append(v.input, parseInput(t, line)...)
			case "expect":
				v.expect = append(v.expect, line)
			default:
				t.Fatalf("unknown file %s in the vector", f.Name)
			}
		}
	}
	return v
}

// parseInput reads a line of Go-quoted text or of hexadecimal bytes.
func parseInput(t *testing.T, line string) []byte {
	t.Helper()
	if strings.HasPrefix(line, `"`) {
		s, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("input line %s: %v", line, err)
		}
		return []byte(s)
	}
	var out []byte
	for _, digits := range strings.Fields(line) {
		b, err := strconv.ParseUint(digits, 16, 8)
		if err != nil {
			t.Fatalf("input line %s: %v", line, err)
		}
		out = append(out, byte(b))
	}
	return out
}

func (v vector) decode(t *testing.T, chunks [][]byte) []string {
	t.Helper()
	limit := 0
	if s := v.header["limit"]; s != "" {
		var err error
		if limit, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	switch v.header["decoder"] {
	case "envelope":
		lines, _ = traceEnvelopes(chunks, uint32(limit))
	case "line":
		lines, _ = traceLines(chunks, limit)
	case "end-stream":
		lines = traceEndStream(v.input)
	case "error":
		lines = traceError(v.input)
	case "response":
		lines = traceResponses(chunks, limit, strings.Fields(v.header["methods"])...)
	case "connect":
		lines = traceConnect(chunks)
	case "grpc":
		lines, _ = traceEnvelopesOf(GRPC, chunks, uint32(limit))
	case "grpc-web":
		lines, _ = traceEnvelopesOf(GRPCWeb, chunks, uint32(limit))
	case "grpc-status":
		lines = traceStatus(v.input)
	case "web-trailers":
		lines = traceWebTrailers(v.input)
	case "answer-grpc-web":
		lines = traceWebAnswer(chunks)
	case "ws", "ws-client":
		lines = traceWS(chunks, v.wsOptions(t, v.header["decoder"] == "ws-client"))
	case "ws-upgrade":
		lines = v.traceWSUpgrade(t, chunks)
	case "ws-stdio":
		lines = traceStdio(chunks)
	default:
		t.Fatalf("unknown decoder %q", v.header["decoder"])
	}
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, detailMark)
	}
	return lines
}

// traceConnect decodes a whole Connect stream response: HTTP, the envelopes in its
// body, and the end-of-stream message in them. Offsets of frames are relative to the
// body.
func traceConnect(chunks [][]byte) []string {
	var t trace
	envelopes := EnvelopeDecoder{OnViolation: t.violation, OnFrame: func(f Frame) {
		t.add("frame %d 0x%02x %q", f.Off, f.Flags, f.Payload)
		if f.Flags == FlagEndStream {
			t.lines = append(t.lines, traceEndStream(f.Payload)...)
		}
	}}
	responses := ResponseDecoder{
		OnHead:      func(h Head) { t.add("head %d %d %s", h.Off, h.Status, h.Framing) },
		OnBody:      envelopes.Feed,
		OnEnd:       func([]Field) { envelopes.Close(); t.add("end ended %t", envelopes.Ended()) },
		OnViolation: t.violation,
	}
	feeder(chunks, responses.Feed, func() {})
	responses.Close()
	return t.lines
}

// traceWebAnswer decodes a whole gRPC-Web response over HTTP/1.1: the frames in its
// body, and the status in the last frame, or in the head if no frame has it.
func traceWebAnswer(chunks [][]byte) []string {
	var t trace
	var head Head
	envelopes := EnvelopeDecoder{Protocol: GRPCWeb, OnViolation: t.violation, OnFrame: func(f Frame) {
		t.add("frame %d 0x%02x %q", f.Off, f.Flags, f.Payload)
		if f.Flags == FlagTrailer {
			t.lines = append(t.lines, traceWebTrailers(f.Payload)...)
		}
	}}
	responses := ResponseDecoder{
		OnHead: func(h Head) { head = h; t.add("head %d %d %s", h.Off, h.Status, h.Framing) },
		OnBody: envelopes.Feed,
		OnEnd: func([]Field) {
			envelopes.Close()
			if !envelopes.Ended() {
				t.lines = append(t.lines, traceFields(head.Fields)...)
			}
			t.add("end ended %t", envelopes.Ended())
		},
		OnViolation: t.violation,
	}
	feeder(chunks, responses.Feed, func() {})
	responses.Close()
	return t.lines
}
