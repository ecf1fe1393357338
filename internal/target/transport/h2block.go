package transport

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"

	"assay/internal/wire"
)

const (
	// The limits of an encoded header block. Exceeding them is a connection error: it
	// stops a flood of CONTINUATION frames.
	maxBlock         = 256 << 10
	maxContinuations = 256
	// fieldOverhead is added to the size of each field (RFC 9113, section 6.5.2).
	fieldOverhead = 32
	// maxFieldText limits the description of a header block in the record.
	maxFieldText = 2 << 10
)

// headerBlock is a header block that is being received.
type headerBlock struct {
	stream    uint32
	off       int64 // of its HEADERS frame
	endStream bool
	bytes     int // encoded
	frames    int
	size      int // decoded, as MAX_HEADER_LIST_SIZE counts it
	fields    []wire.Field
	parts     []section // of the payloads of its frames in the connection's bytes
}

func (b *headerBlock) over() bool { return b.size > wire.DefaultHeadLimit }

// field takes a decoded field. Beyond the limit it only counts.
func (h *mux) field(f hpack.HeaderField) {
	b := h.block
	if b == nil {
		return
	}
	b.size += len(f.Name) + len(f.Value) + fieldOverhead
	if !b.over() {
		b.fields = append(b.fields, wire.Field{Name: f.Name, Value: f.Value})
	}
}

// text describes the block for the record.
func (b *headerBlock) text(redact redactor) string {
	t := fieldText{redact: redact}
	if b.endStream {
		t.word("END_STREAM")
	}
	for _, f := range b.fields {
		t.add(f.Name, f.Value)
	}
	if b.over() {
		t.word("… too large")
	}
	return t.String()
}

// fieldText describes fields without secrets, up to a limit.
type fieldText struct {
	redact redactor
	b      strings.Builder
}

func (t *fieldText) reset() { t.b.Reset() }

func (t *fieldText) String() string { return t.b.String() }

func (t *fieldText) word(s string) {
	if t.b.Len() > maxFieldText {
		return
	}
	if t.b.Len() > 0 {
		t.b.WriteString(", ")
	}
	t.b.WriteString(s)
}

// add adds a field. It redacts before it cuts: the rest of a secret could not be found.
func (t *fieldText) add(name, value string) {
	t.word(fmt.Sprintf("%.128s: %.256s", t.redact.Text(name), t.redact.Value(value)))
}

// head is the content of a header block.
type head struct {
	status int // 0 in trailers
	fields []wire.Field
	length int64 // content-length, -1 without
}

// read checks a header block (RFC 9113, sections 8.2 and 8.3) and returns its
// content. Any violation makes the whole message malformed. What it quotes has no secrets.
func (b *headerBlock) read(trailers bool, redact redactor) (head, []wire.Violation) {
	out := head{length: -1}
	var violations []wire.Violation
	violate := func(k wire.Kind, format string, args ...any) {
		for i, a := range args {
			if s, ok := a.(string); ok {
				args[i] = redact.Text(s)
			}
		}
		violations = append(violations, wire.Violation{Kind: k, Off: b.off, Detail: fmt.Sprintf(format, args...)})
	}
	if b.over() {
		violate(wire.H2HeaderOverLimit, "the header list is larger than %d bytes", wire.DefaultHeadLimit)
		return out, violations
	}
	statuses, regular := 0, false
	for _, f := range b.fields {
		if strings.HasPrefix(f.Name, ":") {
			switch {
			case f.Name != ":status" || trailers:
				violate(wire.H2PseudoHeader, "%.64q is not allowed in %s", f.Name, place(trailers))
			case regular:
				violate(wire.H2PseudoHeader, ":status follows regular fields")
			}
			if f.Name == ":status" {
				statuses++
				out.status = parseStatus(f.Value)
				if out.status == 0 {
					violate(wire.H2PseudoHeader, ":status %.32q is not three digits from 100 to 599", f.Value)
				}
			}
			continue
		}
		regular = true
		if k, format := badField(f); format != "" {
			violate(k, format, f.Name)
		}
		out.fields = append(out.fields, f)
	}
	if !trailers && statuses != 1 {
		violate(wire.H2PseudoHeader, ":status is given %d times", statuses)
	}
	out.readLength(violate)
	return out, violations
}

func place(trailers bool) string {
	if trailers {
		return "trailers"
	}
	return "a response"
}

// parseStatus reads three digits, 0 for anything else.
func parseStatus(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 3 || n < 100 || n > 599 {
		return 0
	}
	return n
}

// badField returns the violation of a regular field (RFC 9113, sections 8.2.1 and 8.2.2) and
// the format of its description, which takes the name; "" without one.
func badField(f wire.Field) (wire.Kind, string) {
	switch {
	case strings.ToLower(f.Name) != f.Name:
		return wire.H2FieldName, "the field name %.64q is not in lower case"
	case !httpguts.ValidHeaderFieldName(f.Name):
		return wire.H2FieldName, "%.64q is not a field name"
	case isConnectionField(f.Name):
		return wire.H2ConnectionHeader, "the field %s is for HTTP/1.1 connections only"
	case strings.ContainsAny(f.Value, "\x00\r\n"):
		return wire.H2FieldValue, "the value of %.64q has a line break or NUL"
	case strings.Trim(f.Value, " \t") != f.Value:
		return wire.H2FieldValue, "the value of %.64q begins or ends in white space"
	}
	return "", ""
}

func isConnectionField(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

func (o *head) readLength(violate func(wire.Kind, string, ...any)) {
	for _, f := range o.fields {
		if f.Name != "content-length" {
			continue
		}
		n, err := strconv.ParseUint(f.Value, 10, 63)
		if err != nil || o.length >= 0 && o.length != int64(n) {
			violate(wire.H2ContentLength, "content-length %.64q is not one number", f.Value)
			return
		}
		o.length = int64(n)
	}
}
