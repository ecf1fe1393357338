package phrase

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxQuoted limits the bytes of a quoted value.
const maxQuoted = 60

// Quote returns p in Go's quotes, truncated at 60 bytes but never inside a character.
func Quote(p []byte) string {
	if len(p) <= maxQuoted {
		return strconv.Quote(string(p))
	}
	n := maxQuoted
	for n > maxQuoted-utf8.UTFMax && !utf8.RuneStart(p[n]) {
		n--
	}
	return strconv.Quote(string(p[:n])) + "…"
}

// QuoteString is Quote for a string.
func QuoteString(s string) string { return Quote([]byte(s)) }

// Legal formats a legal set: "a", "a or b", "a, b or c".
func Legal[T any](set []T, text func(T) string) string {
	words := make([]string, len(set))
	for i, v := range set {
		words[i] = text(v)
	}
	if len(words) == 0 {
		return "nothing"
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// AsIs returns s, as the text of a member of a legal set.
func AsIs(s string) string { return s }

// Span formats a duration in nanoseconds with about three significant digits.
func Span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second || d <= -time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond || d <= -time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.String()
}

// Plural returns "1 frame" or "3 frames".
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Clip puts a text on one line and truncates it at 160 bytes, two lines of a report.
func Clip(s string) string { return ClipAt(s, 160) }

// ClipAt is Clip with a limit of most bytes.
func ClipAt(s string, most int) string {
	s = string(bytes.ToValidUTF8([]byte(strings.Join(strings.Fields(s), " ")), []byte("\uFFFD")))
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// RanLate marks a message whose verdict is inconclusive because the driver ran late.
const RanLate = "this driver itself ran late"
