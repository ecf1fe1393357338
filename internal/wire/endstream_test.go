package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

func TestAnEndStreamHasItsErrorAndItsMetadata(t *testing.T) {
	for text, want := range map[string]EndStream{
		`{}`:                                  {},
		`{"metadata":{"a":[],"b":["2","1"]}}`: {Metadata: map[string][]string{"b": {"2", "1"}, "a": {}}},
		`{"error":{"code":"aborted","message":"say \"é\"\n","details":[{"type":"a.B","value":"CAE"},{"type":"c.D","value":""}]}}`: {
			Error: &Error{Code: "aborted", Message: "say \"é\"\n", Details: []ErrorDetail{{"a.B", "CAE"}, {"c.D", ""}}}},
		`{"error":{"code":"aborted"},"metadata":{"a":["x"]}}`: {Error: &Error{Code: "aborted"}, Metadata: map[string][]string{"a": {"x"}}},
	} {
		if got, violations := DecodeEndStream([]byte(text)); !reflect.DeepEqual(got, want) || len(violations) > 0 {
			t.Errorf("%s is read as %+v with %v", text, got, violations)
		}
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
		p := fmt.Sprintf(`{"code":"internal","details":[{"type":"a.B","value":%q}]}`, value)
		if _, violations := DecodeError([]byte(p)); (len(violations) == 0) != legal {
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
		var want map[string]any
		if err := json.Unmarshal(p, &want); err != nil {
			t.Fatalf("encoding/json cannot read %q, which has no violation: %v", p, err)
		}
		if e, _ := want["error"].(map[string]any); (e == nil) != (got.Error == nil) || e != nil && !sameError(got.Error, e) {
			t.Fatalf("%q has the error %+v", p, got.Error)
		}
		m, _ := want["metadata"].(map[string]any)
		for name, values := range got.Metadata {
			if list, _ := m[name].([]any); len(list) != len(values) {
				t.Fatalf("%q has the metadata %v", p, got.Metadata)
			}
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
		var want map[string]any
		if err := json.Unmarshal(p, &want); err != nil || !sameError(got, want) {
			t.Fatalf("%q is %+v, and to encoding/json %v (%v)", p, got, want, err)
		}
	})
}

// sameError reports whether an error is what encoding/json reads.
func sameError(e *Error, want map[string]any) bool {
	message, _ := want["message"].(string)
	details, _ := want["details"].([]any)
	return e.Code == want["code"] && e.Message == message && len(e.Details) == len(details)
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
