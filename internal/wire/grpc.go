package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"assay/internal/base/strictjson"
)

// FlagTrailer marks the trailer frame of gRPC-Web.
const FlagTrailer byte = 0x80

// The fields that carry a gRPC status.
const (
	fieldStatus  = "grpc-status"
	fieldMessage = "grpc-message"
	fieldDetails = "grpc-status-details-bin"
)

// GRPCStatus is a decoded gRPC status.
type GRPCStatus struct {
	// Code is the number in grpc-status, -1 when it is not a number.
	Code int
	// Message is grpc-message, percent-decoded.
	Message string
	// Details is grpc-status-details-bin, decoded: a google.rpc.Status.
	Details []byte
	// Entries are the entries of Details in the form of Connect.
	Entries []ErrorDetail
	// Metadata are the other fields, in order.
	Metadata []Field
}

// DecodeGRPCStatus reads grpc-status, grpc-message and grpc-status-details-bin
// from trailers, or from the headers of a trailers-only response ("PROTOCOL-HTTP2",
// "Responses"). Names are case-insensitive. ok is false when there is no
// grpc-status; the other fields are returned anyway. Of a repeated field the first one
// counts. The offset of a violation is the index of its field.
func DecodeGRPCStatus(fields []Field) (s GRPCStatus, ok bool, violations []Violation) {
	d := statusDecoder{at: map[string]int{}}
	s.Code = -1
	for i, f := range fields {
		name := strings.ToLower(f.Name)
		switch name {
		case fieldStatus, fieldMessage, fieldDetails:
		default:
			s.Metadata = append(s.Metadata, f)
			continue
		}
		if _, again := d.at[name]; again {
			d.repeated(i, name)
			continue
		}
		d.at[name] = i
		switch name {
		case fieldStatus:
			s.Code, ok = d.code(i, f.Value), true
		case fieldMessage:
			s.Message = d.message(i, f.Value)
		case fieldDetails:
			s.Details = d.base64(i, f.Value)
		}
	}
	d.agree(&s)
	return s, ok, d.violations
}

// statusDecoder collects the violations of one status.
type statusDecoder struct {
	at         map[string]int // index of the first field of that name
	violations []Violation
}

func (d *statusDecoder) violate(k Kind, at int, format string, args ...any) {
	d.violations = append(d.violations, Violation{Kind: k, Off: int64(at), Detail: fmt.Sprintf(format, args...)})
}

func (d *statusDecoder) repeated(at int, name string) {
	switch name {
	case fieldStatus:
		d.violate(GRPCStatusRepeated, at, "grpc-status is given more than once")
	case fieldMessage:
		d.violate(GRPCMessageRepeated, at, "grpc-message is given more than once")
	default:
		d.violate(GRPCDetailsBase64, at, "grpc-status-details-bin is given more than once")
	}
}

// code reads a status: 1*DIGIT, from 0 to 16, without leading zeros. A valid number in
// an invalid form is returned anyway.
func (d *statusDecoder) code(at int, text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	switch {
	case err != nil:
		d.violate(GRPCStatusValue, at, "grpc-status %.32q is not a decimal number", text)
		return -1
	case n > uint64(len(codes)):
		d.violate(GRPCStatusValue, at, "grpc-status %d is not one of 0 to %d", n, len(codes))
	case len(text) > 1 && text[0] == '0':
		d.violate(GRPCStatusValue, at, "grpc-status %.32q has leading zeros", text)
	}
	return int(n)
}

// message removes the percent-encoding. A malformed part stays as it is, as the
// specification demands. Lower-case digits are legal, because letters in ABNF are
// case-insensitive. So is every encoded byte: the text is UTF-8 only by
// convention, and each invalid byte becomes U+FFFD.
func (d *statusDecoder) message(at int, text string) string {
	out := make([]byte, 0, len(text))
	why := ""
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c < ' ' || c > '~':
			why = fmt.Sprintf("byte 0x%02x must be percent-encoded", c)
		case c == '%' && i+2 < len(text) && strictjson.HexDigit(text[i+1]) >= 0 && strictjson.HexDigit(text[i+2]) >= 0:
			c = byte(strictjson.HexDigit(text[i+1])<<4 | strictjson.HexDigit(text[i+2]))
			i += 2
		case c == '%':
			why = "a percent sign is not followed by two hexadecimal digits"
		}
		out = append(out, c)
	}
	if why != "" {
		d.violate(GRPCMessageEncoding, at, "grpc-message %.64q: %s", text, why)
		return string(out)
	}
	return string([]rune(string(out)))
}

// base64 reads a binary value: standard base64, unpadded; padding is accepted.
func (d *statusDecoder) base64(at int, text string) []byte {
	plain := strings.TrimRight(text, "=")
	if plain != text {
		d.violate(GRPCDetailsPadded, at, "grpc-status-details-bin is padded")
	}
	if why := notUnpaddedBase64(plain); why != "" {
		d.violate(GRPCDetailsBase64, at, "grpc-status-details-bin is %s", why)
	}
	p, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		return nil
	}
	return p
}

// agree compares the parts of the status with each other.
func (d *statusDecoder) agree(s *GRPCStatus) {
	if at, given := d.at[fieldMessage]; given && s.Code == 0 && s.Message != "" {
		d.violate(GRPCMessageOnOK, at, "grpc-message %.64q goes with status 0", s.Message)
	}
	at, given := d.at[fieldDetails]
	if !given {
		return
	}
	if s.Code == 0 {
		d.violate(GRPCDetailsOnOK, at, "grpc-status-details-bin goes with status 0")
	}
	if s.Details == nil {
		return
	}
	var inner status.Status
	if proto.Unmarshal(s.Details, &inner) != nil {
		d.violate(GRPCDetailsProto, at, "grpc-status-details-bin holds no google.rpc.Status")
		return
	}
	for _, entry := range inner.GetDetails() {
		kind := entry.GetTypeUrl()
		s.Entries = append(s.Entries, ErrorDetail{
			Type:  kind[strings.LastIndexByte(kind, '/')+1:], // without the prefix of the URL
			Value: base64.RawStdEncoding.EncodeToString(entry.GetValue()),
		})
	}
	if int(inner.GetCode()) != s.Code {
		d.violate(GRPCDetailsDisagree, at, "the details say code %d, grpc-status says %d", inner.GetCode(), s.Code)
	}
	if inner.GetMessage() != s.Message {
		d.violate(GRPCDetailsDisagree, at, "the details say %.64q, grpc-message says %.64q", inner.GetMessage(), s.Message)
	}
}

// CodeByNumber finds a code by its gRPC number; 0 (OK) is not a code.
func CodeByNumber(n int) (c Code, ok bool) {
	if n < 1 || n > len(codes) {
		return Code{}, false
	}
	return codes[n-1], true
}

// ReservedGRPCName reports whether a field's name is reserved by gRPC
// ("PROTOCOL-HTTP2", "Custom-Metadata"): it begins with grpc- and has no meaning in the
// specification or in the projects' own extensions.
func ReservedGRPCName(name string) bool {
	name = strings.ToLower(name)
	if !strings.HasPrefix(name, "grpc-") {
		return false
	}
	switch name {
	case fieldStatus, fieldMessage, fieldDetails, "grpc-encoding", "grpc-accept-encoding", "grpc-timeout",
		"grpc-message-type", "grpc-previous-rpc-attempts", "grpc-retry-pushback-ms",
		"grpc-trace-bin", "grpc-tags-bin", "grpc-server-stats-bin":
		return false
	}
	return true
}
