package wire

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"
)

func TestACodeIsFoundByItsNumberAndItsName(t *testing.T) {
	for n := 1; n <= len(codes); n++ {
		name := connect.Code(n).String()
		if c, ok := CodeByNumber(n); !ok || c.Name != name {
			t.Errorf("CodeByNumber(%d) = %v, %t, want %s", n, c, ok, name)
		}
		if c, ok := CodeByName(name); !ok || c.Name != name {
			t.Errorf("CodeByName(%q) = %v, %t", name, c, ok)
		}
	}
	for _, n := range []int{-1, 0, 17, 1 << 20} {
		if c, ok := CodeByNumber(n); ok {
			t.Errorf("CodeByNumber(%d) = %v", n, c)
		}
	}
}

func TestProtocolIsFoundByItsNameAndNamesItsKinds(t *testing.T) {
	envelopes := []Kind{ReservedFlags, TruncatedHeader, TruncatedPayload, PayloadOverLimit, CompressedUnasked, BadCompression}
	tests := []struct {
		name  string
		want  Protocol
		kinds []Kind
	}{
		{"connect", Connect, envelopes},
		{"grpc", GRPC, []Kind{GRPCReservedFlags, GRPCTruncatedHeader, GRPCTruncatedPayload, GRPCOverLimit, GRPCCompressedUnasked, GRPCBadCompression}},
		{"grpc-web", GRPCWeb, []Kind{WebReservedFlags, WebTruncatedHeader, WebTruncatedPayload, WebOverLimit, WebCompressedUnasked, WebBadCompression}},
	}
	for _, tt := range tests {
		p, ok := ProtocolByName(tt.name)
		if !ok || p != tt.want || p.String() != tt.name {
			t.Errorf("ProtocolByName(%q) = %v, %t", tt.name, p, ok)
		}
		for i, k := range envelopes {
			if got := p.Kind(k); got != tt.kinds[i] {
				t.Errorf("%s: Kind(%s) = %s, want %s", tt.name, k, got, tt.kinds[i])
			}
		}
		if got := p.Kind(EndStreamJSON); got != EndStreamJSON {
			t.Errorf("%s: the kind of another decoder became %s", tt.name, got)
		}
	}
	if GRPCWeb.Kind(BytesAfterEnd) != WebBytesAfterEnd || Connect.Kind(BytesAfterEnd) != BytesAfterEnd {
		t.Error("bytes after the end have the wrong kind")
	}
	if p, ok := ProtocolByName(""); !ok || p != Connect {
		t.Error("an empty name is not Connect")
	}
	if _, ok := ProtocolByName("thrift"); ok {
		t.Error("thrift is known")
	}
}

func TestAnySplitGivesTheSameEnvelopesInEveryProtocol(t *testing.T) {
	web := AppendEnvelope(AppendEnvelope(AppendEnvelope(nil, 0, nil), 1, []byte("zz")), FlagTrailer, []byte("grpc-status: 0\r\n"))
	inputs := map[string][]byte{
		"a valid stream":          web,
		"cut in the trailers":     web[:len(web)-3],
		"bytes after the end":     append(slices.Clone(web), 0, 0, 0, 0, 1, 'x'),
		"the end of Connect":      AppendEnvelope(AppendEnvelope(nil, FlagEndStream, []byte("{}")), 0, []byte("a")),
		"a length over the limit": append(AppendEnvelope(nil, 0, []byte("a")), 0, 0xff, 0xff, 0xff, 0xff, 1, 2),
	}
	for _, p := range []Protocol{GRPC, GRPCWeb} {
		for name, input := range inputs {
			t.Run(p.String()+" "+name, func(t *testing.T) {
				assertSplitInvariant(t, input, func(chunks [][]byte) []string {
					lines, _ := traceEnvelopesOf(p, chunks, 1000)
					return lines
				})
			})
		}
	}
}

func TestReservedNameIsOneThatTheSpecificationDoesNotKnow(t *testing.T) {
	for name, want := range map[string]bool{
		"grpc-status": false, "Grpc-Encoding": false, "content-type": false, "x-grpc-web": false, "grpc": false,
		"grpc-foo": true, "GRPC-Own": true, "grpc-": true,
	} {
		if got := ReservedGRPCName(name); got != want {
			t.Errorf("ReservedGRPCName(%q) = %t", name, got)
		}
	}
}

// FuzzGRPCStatus: no fields make the decoder fail. What it accepts without a violation
// has the form of the specification, and can be encoded again.
func FuzzGRPCStatus(f *testing.F) {
	f.Add("0", "", "")
	f.Add("5", "no%20pid", "CAUSAm5v")
	f.Add("016", "100%", "CAU=")
	f.Fuzz(func(t *testing.T, status, message, details string) {
		fields := []Field{{"grpc-status", status}, {"grpc-message", message}}
		if details != "" {
			fields = append(fields, Field{"grpc-status-details-bin", details})
		}
		s, ok, violations := DecodeGRPCStatus(fields)
		if !ok {
			t.Fatal("an existing status is not found")
		}
		for _, v := range violations {
			if v.Off < 0 || v.Off >= int64(len(fields)) || v.Detail == "" {
				t.Fatalf("violation %+v", v)
			}
		}
		if len(violations) > 0 {
			return
		}
		if s.Code < 0 || s.Code > 16 || !utf8.ValidString(s.Message) || strings.HasSuffix(details, "=") {
			t.Fatalf("accepted: %q %q %q as %+v", status, message, details, s)
		}
		if details != "" && base64.RawStdEncoding.EncodeToString(s.Details) != details {
			t.Fatalf("details %q became %x", details, s.Details)
		}
	})
}

// FuzzWebTrailers: no bytes make the decoder fail. What it accepts without a violation
// is encoded again unchanged, except for optional white space.
func FuzzWebTrailers(f *testing.F) {
	f.Add([]byte("grpc-status: 0\r\nx: y\r\n"))
	f.Add([]byte("A: b\n c\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		fields, violations := DecodeWebTrailers(p)
		for _, v := range violations {
			if v.Off < 0 || v.Off > int64(len(p)) || v.Detail == "" {
				t.Fatalf("violation %+v", v)
			}
		}
		if len(violations) > 0 {
			return
		}
		var again strings.Builder
		for _, f := range fields {
			again.WriteString(f.Name + ":" + f.Value + "\r\n")
		}
		squeeze := strings.NewReplacer(" ", "", "\t", "")
		if got, want := squeeze.Replace(again.String()), squeeze.Replace(string(p)); got != want {
			t.Fatalf("fields = %+v of %q", fields, p)
		}
	})
}
