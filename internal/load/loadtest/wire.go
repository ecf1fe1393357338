package loadtest

import (
	"encoding/base64"
	"fmt"
	"strings"

	"assay/internal/wire"
)

// Pieces of responses by Connect in JSON over HTTP/1.1.
const (
	StreamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"
	LastChunk  = "0\r\n\r\n"
	EOS        = "\x02\x00\x00\x00\x02{}"

	KillOK      = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	KillGone    = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"code\":\"not_found\"}"
	KillRefused = "HTTP/1.1 501 Not Implemented\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{\"code\":\"unimplemented\"}"
)

// Chunk returns a chunk.
func Chunk(p string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(p), p) }

// Env returns an envelope.
func Env(flags byte, payload string) string {
	return string(wire.AppendEnvelope(nil, flags, []byte(payload)))
}

// StartEvent returns the start event of a process.
func StartEvent(pid int) string { return Env(0, fmt.Sprintf(`{"event":{"start":{"pid":%d}}}`, pid)) }

// Stdout returns an output event.
func Stdout(text string) string {
	return Env(0, fmt.Sprintf(`{"event":{"data":{"stdout":"%s"}}}`, base64.StdEncoding.EncodeToString([]byte(text))))
}

// EndEvent returns the end event of a process.
func EndEvent(code int) string {
	return Env(0, fmt.Sprintf(`{"event":{"end":{"exitCode":%d,"exited":true}}}`, code))
}

// AnswerOf returns a complete response with a chunk for each piece.
func AnswerOf(pieces ...string) string {
	var out strings.Builder
	out.WriteString(StreamHead)
	for _, p := range pieces {
		out.WriteString(Chunk(p))
	}
	return out.String() + LastChunk
}

// GoodAnswer returns the response to a command that prints three numbered lines.
func GoodAnswer() string {
	return AnswerOf(StartEvent(7), Stdout("1\n"), Stdout("2\n"), Stdout("3\n"), EndEvent(0), EOS)
}
