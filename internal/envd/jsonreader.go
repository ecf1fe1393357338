package envd

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"

	"assay/internal/base/strictjson"
)

// reader collects the problems of one payload.
type reader struct{ problems []Problem }

func (r *reader) report(k Kind, off int, format string, args ...any) {
	r.problems = append(r.problems, Problem{Kind: k, Off: int64(off), Detail: fmt.Sprintf(format, args...)})
}

// object reads p as exactly one JSON object.
func (r *reader) object(p []byte) (strictjson.Value, bool) {
	var s strictjson.Scanner
	v, problems := s.Scan(p)
	for _, pr := range problems {
		kind := EventJSON
		if pr.Reason == strictjson.UTF8 {
			kind = EventUTF8
		}
		r.report(kind, pr.Off, "%s", pr.Detail)
	}
	if v.Kind() == strictjson.Invalid {
		return v, false
	}
	return v, r.is(v, strictjson.Object, "the payload")
}

// is reports a problem and returns false if a value is not of type k.
func (r *reader) is(v strictjson.Value, k strictjson.Kind, what string) bool {
	if v.Kind() == k {
		return true
	}
	r.report(EventJSON, v.Off, "%s is %s, not %s", what, v.Kind(), k)
	return false
}

func (r *reader) text(v strictjson.Value, what string) string {
	r.is(v, strictjson.String, what)
	return v.Text()
}

func (r *reader) int(v strictjson.Value, lo, hi int64, what string) int64 {
	n, ok := v.Int(lo, hi)
	if !ok {
		r.report(EventJSON, v.Off, "%s is not an integer from %d to %d", what, lo, hi)
		return 0
	}
	return n
}

func (r *reader) int32(v strictjson.Value, what string) int32 {
	return int32(r.int(v, math.MinInt32, math.MaxInt32, what)) // int has checked the range
}

func (r *reader) uint32(v strictjson.Value, what string) uint32 {
	return uint32(r.int(v, 0, math.MaxUint32, what)) // int has checked the range
}

// bytes reads base64. The JSON mapping of protobuf lets a parser accept the URL
// alphabet and missing padding, but a serializer writes the standard alphabet with
// padding, so anything else is reported, and decoded if possible.
func (r *reader) bytes(v strictjson.Value, what string) []byte {
	if !r.is(v, strictjson.String, what) {
		return nil
	}
	in := v.Bytes()
	out := make([]byte, base64.StdEncoding.DecodedLen(len(in)))
	n, err := base64.StdEncoding.Strict().Decode(out, in)
	if err == nil && !strings.ContainsAny(v.Text(), "\r\n") {
		return out[:n]
	}
	r.report(EventBase64, v.Off, "%s is not base64 in the standard alphabet with padding", what)
	lenient := strings.NewReplacer("-", "+", "_", "/", "=", "", "\r", "", "\n", "").Replace(string(in))
	out, err = base64.RawStdEncoding.DecodeString(lenient)
	if err != nil {
		return nil
	}
	return out
}
