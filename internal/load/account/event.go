package account

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"assay/internal/envd"
	"assay/internal/load"
)

// strictBase64 refuses non-zero padding bits. It is never changed.
var strictBase64 = base64.StdEncoding.Strict()

// event handles one message. The usual forms are read in place; every other form, and so
// every breach, goes through the strict decoder.
func (a *Streams) event(i int32, s *Stream, p []byte) {
	if s.ends == 0 && (a.class(s).json && a.plainJSON(i, s, p) || !a.class(s).json && a.plainProto(i, s, p)) {
		return
	}
	a.strictEvent(i, s, p)
}

const (
	jsonStdout = `{"event":{"data":{"stdout":"`
	jsonStderr = `{"event":{"data":{"stderr":"`
	jsonStart  = `{"event":{"start":{"pid":`
	jsonTail   = `"}}}`
)

// plainJSON reads an event in the form that serializers write. It returns false, and does
// nothing, when the event has another form.
func (a *Streams) plainJSON(i int32, s *Stream, p []byte) bool {
	if s.pid == 0 {
		pid, ok := number(p, jsonStart, "}}}")
		if ok {
			a.started(i, s, pid)
		}
		return ok
	}
	const n = len(jsonStdout)
	if len(p) > n+len(jsonTail) && string(p[len(p)-len(jsonTail):]) == jsonTail {
		text := p[n : len(p)-len(jsonTail)]
		switch string(p[:n]) {
		case jsonStdout:
			return a.base64(i, s, text, false)
		case jsonStderr:
			return a.base64(i, s, text, true)
		}
	}
	return a.knownEnd(s, p)
}

// number reads the number between prefix and suffix.
func number(p []byte, prefix, suffix string) (uint32, bool) {
	if len(p) <= len(prefix)+len(suffix) || string(p[:len(prefix)]) != prefix || string(p[len(p)-len(suffix):]) != suffix {
		return 0, false
	}
	digits := p[len(prefix) : len(p)-len(suffix)]
	if len(digits) > 10 || digits[0] == '0' {
		return 0, false
	}
	n := uint64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return uint32(n), n <= math.MaxUint32 //nolint:gosec // the second result reports overflow
}

// base64 handles output in base64. It returns false when the text is not base64.
func (a *Streams) base64(i int32, s *Stream, text []byte, stderr bool) bool {
	if len(text)%4 != 0 || len(text) == 0 || len(text)/4*3 > len(a.scratch) {
		return false
	}
	n, err := strictBase64.Decode(a.scratch, text)
	want := len(text) / 4 * 3
	for j := len(text) - 1; j >= len(text)-2 && text[j] == '='; j-- {
		want--
	}
	if err != nil || n != want {
		return false
	}
	a.output(i, s, a.scratch[:n], stderr)
	return true
}

// plainProto reads StartResponse.event (1) with a start (1) or with data (2) of
// stdout (1), stderr (2) or pty (3), each message filling the one around it.
func (a *Streams) plainProto(i int32, s *Stream, p []byte) bool {
	in, ok := onlyField(p, 1<<3|2)
	if !ok || len(in) == 0 {
		return false
	}
	if s.pid == 0 {
		start, ok := onlyField(in, 1<<3|2)
		if !ok || len(start) < 2 || start[0] != 1<<3 {
			return false
		}
		pid, n := varint(start[1:])
		if n != len(start)-1 || pid == 0 {
			return false
		}
		a.started(i, s, pid)
		return true
	}
	data, ok := onlyField(in, 2<<3|2)
	if !ok || len(data) == 0 {
		return a.knownEnd(s, p)
	}
	for tag := byte(1); tag <= 3; tag++ {
		if text, ok := onlyField(data, tag<<3|2); ok {
			a.output(i, s, text, tag == 2)
			return true
		}
	}
	return false
}

// onlyField returns the content of a message that consists of one length-delimited field.
func onlyField(p []byte, tag byte) ([]byte, bool) {
	if len(p) < 2 || p[0] != tag {
		return nil, false
	}
	size, n := varint(p[1:])
	if n == 0 || uint64(size) != uint64(len(p)-1-n) {
		return nil, false
	}
	return p[1+n:], true
}

// varint reads a varint of at most 28 bits; n is 0 when it is longer or incomplete.
func varint(p []byte) (v uint32, n int) {
	for shift := 0; n < len(p) && n < 4; shift += 7 {
		b := p[n]
		n++
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// knownEnd handles an end event that equals the last one that the strict decoder read:
// nearly all end events of a run are equal.
func (a *Streams) knownEnd(s *Stream, p []byte) bool {
	c := a.class(s)
	if len(c.endBytes) == 0 || !bytes.Equal(p, c.endBytes) || s.pid == 0 {
		return false
	}
	a.endEvent(s, c.endCode)
	return true
}

const (
	lineStart  = `{"type":"start","pid":`
	lineStdout = `{"type":"stdout","data":"`
	lineStderr = `{"type":"stderr","data":"`
	lineTail   = `"}`
)

// plainLine reads a line in the form that serializers write. It returns false, and does
// nothing, when the line has another form.
func (a *Streams) plainLine(i int32, s *Stream, p []byte) bool {
	if s.ends > 0 {
		return false
	}
	if s.pid == 0 {
		pid, ok := number(p, lineStart, "}")
		if ok {
			a.started(i, s, pid)
		}
		return ok
	}
	const n = len(lineStdout)
	if len(p) >= n+len(lineTail) && string(p[len(p)-len(lineTail):]) == lineTail {
		stderr := string(p[:n]) == lineStderr
		if stderr || string(p[:n]) == lineStdout {
			text, ok := a.plainText(p[n : len(p)-len(lineTail)])
			if ok {
				a.output(i, s, text, stderr)
			}
			return ok
		}
	}
	return a.knownEnd(s, p)
}

// plainText decodes the inside of a JSON string that is printable ASCII without
// escapes other than \n.
func (a *Streams) plainText(p []byte) ([]byte, bool) {
	if len(p) > len(a.scratch) {
		return nil, false
	}
	n := 0
	for j := 0; j < len(p); j++ {
		c := p[j]
		switch {
		case c == '\\' && j+1 < len(p) && p[j+1] == 'n':
			c = '\n'
			j++
		case c < ' ' || c > '~' || c == '"' || c == '\\':
			return nil, false
		}
		a.scratch[n] = c
		n++
	}
	return a.scratch[:n], true
}

// strictEvent handles an event with the strict decoder.
func (a *Streams) strictEvent(i int32, s *Stream, p []byte) {
	e, problems := a.decode(s, p)
	if len(problems) > 0 {
		a.Breach(i, s, fmt.Sprintf("%s: %s", problems[0].Kind, problems[0].Detail))
	}
	c := a.class(s)
	if s.pid == 0 && e.Kind != envd.KindStart {
		if c.ndjson && e.Kind == envd.KindUnknown {
			a.errorLine(i, s, p)
			return
		}
		a.Breach(i, s, "the event "+e.Kind+" comes before start")
		return
	}
	// A keepalive and an event of a later version may follow the end, but not as NDJSON (rules process.stream.end-last, ndjson.stream.shape).
	if s.ends > 0 && (c.ndjson || e.Kind != envd.KindKeepAlive && e.Kind != envd.KindUnknown) {
		a.Breach(i, s, "the event "+e.Kind+" comes after end")
	}
	switch e.Kind {
	case envd.KindStart:
		switch {
		case s.pid != 0:
			a.Breach(i, s, "a second start event")
		case e.PID != 0: // otherwise the decoder has reported it
			a.started(i, s, e.PID)
		}
	case envd.KindData:
		a.output(i, s, e.Data, e.Stream == envd.Stderr)
	case envd.KindEnd:
		if len(problems) == 0 && s.ends == 0 {
			c.endBytes, c.endCode = append(c.endBytes[:0], p...), e.Exit.Code
		}
		a.endEvent(s, e.Exit.Code)
	case envd.KindUnknown:
		if c.ndjson {
			a.errorLine(i, s, p)
		}
	}
}

func (a *Streams) decode(s *Stream, p []byte) (envd.Event, []envd.Problem) {
	c := a.class(s)
	switch {
	case c.ndjson:
		return envd.DecodeLine(p)
	case c.json:
		return envd.DecodeEvent(load.CodecJSON, p)
	default:
		return envd.DecodeEvent(load.CodecProto, p)
	}
}

// endEvent handles the end event of the process.
func (a *Streams) endEvent(s *Stream, code int32) {
	if s.ends < 255 {
		s.ends++
	}
	s.code = code
	s.phase, s.since = phaseEnding, a.at
}

// output handles one data event: it records the time and checks the bytes.
func (a *Streams) output(i int32, s *Stream, p []byte, stderr bool) {
	s.since = a.at
	a.touch(i, s)
	a.events++
	if stderr {
		return
	}
	a.bytes += len(p)
	if s.has(flagCareful) {
		a.compareCareful(i, s, p)
		return
	}
	switch a.class(s).Check.Kind {
	case load.CheckNone:
	case load.CheckSequence:
		if rest, ok := s.sequence(p); !ok {
			a.careful(i, s)
			a.compareCareful(i, s, rest)
		}
	case load.CheckSame, load.CheckDigest:
		a.careful(i, s)
		a.compareCareful(i, s, p)
	}
}

// compareCareful checks output with the stream's extra.
func (a *Streams) compareCareful(i int32, s *Stream, p []byte) {
	x := a.extras[i]
	switch {
	case x.hash != nil:
		_, _ = x.hash.Write(p) // never fails
		x.bytes += int64(len(p))
	case x.seq != nil:
		if wrong := x.seq.write(p); wrong != "" {
			a.Breach(i, s, wrong)
		}
	}
}

// sequence compares p with the numbered lines. At the first difference it returns false
// and the part of p that it did not compare.
func (s *Stream) sequence(p []byte) (rest []byte, ok bool) {
	for len(p) > 0 {
		if s.at == 0 {
			if n := wholeLine(p, s.next); n > 0 {
				p = p[n:]
				s.next++
				s.lines++
				continue
			}
		}
		var buf [24]byte
		want := append(strconv.AppendUint(buf[:0], s.next, 10), '\n')
		for len(p) > 0 && int(s.at) < len(want) {
			if p[0] != want[s.at] {
				return p, false
			}
			s.at++
			p = p[1:]
		}
		if int(s.at) == len(want) {
			s.at = 0
			s.next++
			s.lines++
		}
	}
	return nil, true
}

// wholeLine returns the length of the first line of p if it is the number want, else 0.
func wholeLine(p []byte, want uint64) int {
	v := uint64(0)
	for j, c := range p {
		if c == '\n' {
			if j > 0 && v == want && (p[0] != '0' || j == 1) {
				return j + 1
			}
			return 0
		}
		if c < '0' || c > '9' || j > 18 {
			return 0
		}
		v = v*10 + uint64(c-'0')
	}
	return 0
}
