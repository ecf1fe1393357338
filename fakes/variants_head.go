package fakes

import (
	"bytes"
	"net/http"
	"time"
)

// slowAnswer is how long every answer of slow-answers is held back: more than
// any machine needs by itself, and little against the deadlines of clients.
const slowAnswer = 25 * time.Millisecond

// headVariants differ in the heads of answers, or in when they come.
func headVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "no-date",
			Title:  "Answers have no Date",
			Source: "RFC 9110 section 6.6.1: a server without a clock sends none",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			h["Date"] = nil
			return status
		})},
		{Variant{
			ID:     "unknown-headers",
			Title:  "Answers have headers that nobody asked for",
			Source: "RFC 9110 section 5.1: unknown fields are ignored; what proxies add",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			h.Set("Server", "gateway/1.0 (sandbox)")
			h.Set("Via", "1.1 edge-7")
			h.Set("X-Request-Id", "01J9ZC8Q4Y")
			h.Set("Server-Timing", `edge;dur=0.4, origin;dur=1.2;desc="start, exec"`)
			return status
		})},
		{Variant{
			ID:     "early-hints",
			Title:  "An informational answer, 103, comes before every answer",
			Source: "RFC 9110 section 15.2: a client must be able to read any number of them",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.ProtoAtLeast(1, 1) {
				w.WriteHeader(http.StatusEarlyHints)
			}
			next.ServeHTTP(w, r)
		})},
		{Variant{
			ID:     "slow-answers",
			Title:  "Every answer begins 25 ms late",
			Source: "gateways behind another continent",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			over := make(chan struct{})
			stop := wallClock{}.AfterFunc(slowAnswer, func() { close(over) })
			defer stop()
			select {
			case <-over:
			case <-r.Context().Done():
			}
			next.ServeHTTP(w, r)
		})},
		{Variant{
			ID:     "lower-case-headers",
			Title:  "The names of headers are in small letters, without a space after the colon",
			Source: "RFC 9112 section 5: names are compared without case, white space is optional; nginx behind HTTP/2",
		}, onConn(reframe{head: lowerNames})},
		{Variant{
			ID:     "no-reason-phrase",
			Title:  "The status line has no reason phrase",
			Source: "RFC 9112 section 4: the reason phrase is optional",
		}, onConn(reframe{head: dropReason})},
	}
}

// onConn puts a change of the framing around every connection.
func onConn(r reframe) func(*seams, uint64) {
	return func(s *seams, _ uint64) { s.conn = around(s.conn, r.on) }
}

// lowerNames writes the names of a head in small letters.
func lowerNames(head []byte) []byte {
	var out []byte
	for i, line := range bytes.SplitAfter(head, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(": "))
		if i == 0 || !ok {
			out = append(out, line...)
			continue
		}
		out = append(append(out, bytes.ToLower(name)...), ':')
		out = append(out, value...)
	}
	return out
}

// dropReason leaves the reason phrase out of a head.
func dropReason(head []byte) []byte {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	const codeEnd = len("HTTP/1.1 200 ")
	if len(line) > codeEnd {
		line = line[:codeEnd]
	}
	return append(append(bytes.Clone(line), "\r\n"...), rest...)
}
