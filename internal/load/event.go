package load

import (
	"bytes"
	"encoding/base64"

	"assay/internal/envd"
)

// coding is how the data of an event is written.
type coding uint8

const (
	codedRaw    coding = iota // as it is
	codedBase64               // standard alphabet, padded
	codedJSON                 // the inside of a JSON string, already known to be valid
)

// event is one process event. data is as it stands on the wire, so that reading
// an event allocates nothing; stream.write decodes it piece by piece.
type event struct {
	kind   string // of envd
	stream string // of envd, with data
	pid    uint32
	code   int32
	coding coding
	data   []byte
}

// readJSON reads an event in the JSON codec. The form that serializers write for
// output is recognised in place; everything else, and so every breach, goes
// through the strict decoder.
func readJSON(p []byte) (event, []envd.Problem) {
	c := cursor{p: p}
	c.punct('{')
	c.key("event")
	c.punct('{')
	if name := c.name(); name == "data" {
		c.punct(':')
		c.punct('{')
		stream := streamName(c.name())
		c.punct(':')
		text := c.plainString()
		c.punct('}')
		c.punct('}')
		c.punct('}')
		if c.end() && stream != "" && isBase64(text) {
			return event{kind: envd.KindData, stream: stream, coding: codedBase64, data: text}, nil
		}
	}
	return strict(envd.DecodeEvent("json", p))
}

// readProto reads an event in the proto codec: StartResponse.event (1), data (2),
// one of stdout, stderr and pty (1 to 3), each filling its message.
func readProto(p []byte) (event, []envd.Problem) {
	in, ok := onlyField(p, 1)
	if ok {
		in, ok = onlyField(in, 2)
	}
	if ok && len(in) > 0 {
		number := in[0] >> 3
		if text, whole := onlyField(in, number); whole && number >= 1 && number <= 3 {
			stream := [4]string{"", envd.Stdout, envd.Stderr, envd.PTY}[number]
			return event{kind: envd.KindData, stream: stream, data: text}, nil
		}
	}
	return strict(envd.DecodeEvent("proto", p))
}

// readLine reads an event of the NDJSON alias; p is known to be a JSON object.
func readLine(p []byte) (event, []envd.Problem) {
	c := cursor{p: p}
	c.punct('{')
	c.key("type")
	if stream := streamName(c.name()); stream != "" && stream != envd.PTY {
		c.punct(',')
		c.key("data")
		text := c.anyString()
		c.punct('}')
		if c.end() {
			return event{kind: envd.KindData, stream: stream, coding: codedJSON, data: text}, nil
		}
	}
	return strict(envd.DecodeLine(p))
}

// strict turns what the strict decoder says into an event.
func strict(e envd.Event, problems []envd.Problem) (event, []envd.Problem) {
	return event{kind: e.Kind, stream: e.Stream, pid: e.PID, code: e.Exit.Code, data: e.Data}, problems
}

// onlyField returns the content of a message that is one length-delimited field.
func onlyField(p []byte, number byte) ([]byte, bool) {
	if len(p) < 2 || p[0] != number<<3|2 {
		return nil, false
	}
	n, shift, i := uint64(0), 0, 1
	for {
		if i >= len(p) || i > 5 {
			return nil, false
		}
		b := p[i]
		n |= uint64(b&0x7f) << shift
		shift += 7
		i++
		if b < 0x80 {
			break
		}
	}
	if n != uint64(len(p)-i) {
		return nil, false
	}
	return p[i:], true
}

func streamName(name string) string {
	switch name {
	case "stdout":
		return envd.Stdout
	case "stderr":
		return envd.Stderr
	case "pty":
		return envd.PTY
	}
	return ""
}

// strictBase64 refuses bits behind the last byte. It is never changed.
var strictBase64 = base64.StdEncoding.Strict()

// isBase64 reports whether text may be padded base64; whether it is, shows when it is decoded.
func isBase64(text []byte) bool { return len(text)%4 == 0 && len(text) > 0 }

// decodedLen is how many bytes padded base64 stands for.
func decodedLen(text []byte) int {
	n := len(text) / 4 * 3
	for i := len(text) - 1; i >= 0 && i >= len(text)-2 && text[i] == '='; i-- {
		n--
	}
	return n
}

// cursor walks over JSON text of a form that is expected. Where the text is of
// another form it fails and stays so; nothing is said about why.
type cursor struct {
	p      []byte
	i      int
	failed bool
}

func (c *cursor) space() {
	for c.i < len(c.p) && (c.p[c.i] == ' ' || c.p[c.i] == '\n' || c.p[c.i] == '\r' || c.p[c.i] == '\t') {
		c.i++
	}
}

// punct wants one character.
func (c *cursor) punct(b byte) {
	c.space()
	if c.i >= len(c.p) || c.p[c.i] != b {
		c.failed = true
		return
	}
	c.i++
}

// key wants a member's name and the colon.
func (c *cursor) key(name string) {
	if c.name() != name {
		c.failed = true
	}
	c.punct(':')
}

// name reads a string that is one of the words of the protocol, "" for any other.
func (c *cursor) name() string {
	switch string(c.plainString()) {
	case "event":
		return "event"
	case "data":
		return "data"
	case "type":
		return "type"
	case "stdout":
		return "stdout"
	case "stderr":
		return "stderr"
	case "pty":
		return "pty"
	}
	return ""
}

// plainString reads a string without escapes.
func (c *cursor) plainString() []byte {
	text := c.anyString()
	if bytes.IndexByte(text, '\\') >= 0 {
		c.failed = true
	}
	return text
}

// anyString reads a string and returns what stands between the quotes.
func (c *cursor) anyString() []byte {
	c.punct('"')
	if c.failed {
		return nil
	}
	begin := c.i
	for {
		n := bytes.IndexByte(c.p[c.i:], '"')
		if n < 0 {
			c.failed = true
			return nil
		}
		c.i += n + 1
		// An escaped quote has an odd number of backslashes before it.
		back := c.i - 2
		for back >= begin && c.p[back] == '\\' {
			back--
		}
		if (c.i-2-back)%2 == 0 {
			return c.p[begin : c.i-1]
		}
	}
}

// end reports whether all went well and nothing is left.
func (c *cursor) end() bool {
	c.space()
	return !c.failed && c.i == len(c.p)
}
