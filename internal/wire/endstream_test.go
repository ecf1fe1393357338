package wire

import (
	"reflect"
	"testing"
)

func TestAppendEndStreamIsReadBackAsItWas(t *testing.T) {
	tests := map[string]struct {
		in   EndStream
		want string
	}{
		"success":       {EndStream{}, `{}`},
		"metadata":      {EndStream{Metadata: map[string][]string{"b": {"2", "1"}, "a": {}}}, `{"metadata":{"a":[],"b":["2","1"]}}`},
		"only a code":   {EndStream{Error: &Error{Code: "internal"}}, `{"error":{"code":"internal"}}`},
		"a whole error": {EndStream{Error: &Error{Code: "aborted", Message: "say \"é\"\n", Details: []ErrorDetail{{"a.B", "CAE"}, {"c.D", ""}}}}, `{"error":{"code":"aborted","message":"say \"é\"\n","details":[{"type":"a.B","value":"CAE"},{"type":"c.D","value":""}]}}`},
		"error and metadata": {
			EndStream{Error: &Error{Code: "aborted"}, Metadata: map[string][]string{"a": {"x"}}},
			`{"error":{"code":"aborted"},"metadata":{"a":["x"]}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := AppendEndStream(nil, tt.in)
			if string(p) != tt.want {
				t.Errorf("encoded as\n%s, want\n%s", p, tt.want)
			}
			got, violations := DecodeEndStream(p)
			if !reflect.DeepEqual(got, tt.in) || len(violations) > 0 {
				t.Errorf("read back as %+v with %v", got, violations)
			}
		})
	}
}

func TestAppendErrorIsReadBackAsItWas(t *testing.T) {
	in := Error{Code: "not_found", Message: "no", Details: []ErrorDetail{{"a.B", "CAE"}}}
	got, violations := DecodeError(AppendError(nil, in))
	if got == nil || !reflect.DeepEqual(*got, in) || len(violations) > 0 {
		t.Errorf("read back as %+v with %v", got, violations)
	}
}

func TestDetailsAreHeldToUnpaddedStandardBase64(t *testing.T) {
	for value, legal := range map[string]bool{
		"":     true,
		"CAE":  true,
		"+/+/": true,
		"CAE=": false, // padded
		"-_-_": false, // URL alphabet
		"CA E": false,
		"C":    false, // no byte has six bits
		"CAF":  false, // bits after the last byte
		"CA\n": false,
	} {
		p := AppendError(nil, Error{Code: "internal", Details: []ErrorDetail{{"a.B", value}}})
		if _, violations := DecodeError(p); (len(violations) == 0) != legal {
			t.Errorf("value %q gives %v, legal is %t", value, violations, legal)
		}
	}
}

func TestErrorViolationsNameTheirKind(t *testing.T) {
	tests := map[string]struct {
		body string
		want []Kind
	}{
		"no code":                     {`{"message":"x"}`, []Kind{ErrorCode}},
		"message is a number":         {`{"code":"internal","message":1}`, []Kind{ErrorMessage}},
		"details is an object":        {`{"code":"internal","details":{}}`, []Kind{ErrorDetails}},
		"a detail is a string":        {`{"code":"internal","details":["x"]}`, []Kind{ErrorDetails}},
		"a detail is empty":           {`{"code":"internal","details":[{}]}`, []Kind{ErrorDetails, ErrorDetails}},
		"a detail has no value":       {`{"code":"internal","details":[{"type":"a.B"}]}`, []Kind{ErrorDetails}},
		"code given twice":            {`{"code":"internal","code":"internal"}`, []Kind{ErrorJSON}},
		"data after the object":       {`{"code":"internal"} x`, []Kind{ErrorJSON}},
		"cut":                         {`{"code":"intern`, []Kind{ErrorJSON}},
		"white space only":            {" \n", []Kind{ErrorJSON}},
		"an array":                    {`[]`, []Kind{ErrorJSON}},
		"a message that is not UTF-8": {"{\"code\":\"internal\",\"message\":\"\xc3\"}", []Kind{ErrorJSON}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, violations := DecodeError([]byte(tt.body))
			var got []Kind
			for _, v := range violations {
				got = append(got, v.Kind)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", violations, tt.want)
			}
		})
	}
}

func FuzzEndStream(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"error":null}`, `{"error":{"code":"internal","message":"x","details":[{"type":"a.B","value":"CAE","debug":{}}]},"metadata":{"a":["b"],"a-bin":["AAE"]}}`,
		`{"metadata":{"\u0061":[1]}}`, "{\"a\":\"\xff\"}", `{"error":{}} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		got, violations := DecodeEndStream(p)
		checkOffsets(t, violations, len(p))
		if len(violations) > 0 {
			return
		}
		again, violations := DecodeEndStream(AppendEndStream(nil, got))
		if len(got.Metadata) == 0 {
			got.Metadata = nil // no metadata and empty metadata are equivalent
		}
		if len(violations) > 0 || !reflect.DeepEqual(again, withoutEmptyDetails(got)) {
			t.Fatalf("%q is %+v, and encoded again %+v with %v", p, got, again, violations)
		}
	})
}

func FuzzError(f *testing.F) {
	for _, seed := range []string{``, `{"code":"internal"}`, `{"code":401,"message":"x"}`, `<html>`, `{"code":"internal","details":[{"type":"a.B","value":"CAE"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		got, violations := DecodeError(p)
		checkOffsets(t, violations, len(p))
		if len(violations) > 0 {
			return
		}
		if got == nil {
			if len(p) > 0 {
				t.Fatalf("%q is neither an error nor a violation", p)
			}
			return
		}
		if _, ok := CodeByName(got.Code); !ok {
			t.Fatalf("%q has code %q without a violation", p, got.Code)
		}
		again, violations := DecodeError(AppendError(nil, *got))
		want := withoutEmptyDetails(EndStream{Error: got}).Error
		if len(violations) > 0 || !reflect.DeepEqual(again, want) {
			t.Fatalf("%q is %+v, and encoded again %+v with %v", p, got, again, violations)
		}
	})
}

func withoutEmptyDetails(e EndStream) EndStream {
	if e.Error != nil && len(e.Error.Details) == 0 {
		e.Error.Details = nil
	}
	return e
}

func checkOffsets(t *testing.T, violations []Violation, size int) {
	t.Helper()
	for _, v := range violations {
		if v.Off < 0 || v.Off > int64(size) || v.Detail == "" {
			t.Fatalf("violation %+v in %d bytes", v, size)
		}
	}
}

func BenchmarkDecodeEndStream(b *testing.B) {
	for name, p := range map[string]string{
		"success": `{}`,
		"error":   `{"error":{"code":"resource_exhausted","message":"slow down","details":[{"type":"google.protobuf.Duration","value":"CAEQgMq17gE"}]},"metadata":{"retry-hint":["later"]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, violations := DecodeEndStream([]byte(p)); len(violations) > 0 {
					b.Fatal(violations)
				}
			}
		})
	}
}

func BenchmarkDecodeError(b *testing.B) {
	p := []byte(`{"code":"not_found","message":"process with pid 1 not found"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, violations := DecodeError(p); len(violations) > 0 {
			b.Fatal(violations)
		}
	}
}
