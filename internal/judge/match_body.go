package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// matchBody compares a body without envelopes, or the only message of a unary response, with
// its description.
func matchBody(l *look) finding {
	got := l.x.Body
	if got == nil {
		got = &bundle.Blob{}
	}
	return l.payload("body", l.m.Body, got)
}

// payload compares a body or a message with its description. A message is compared as JSON
// whatever its codec, if Assay knows its type.
func (l *look) payload(what string, m *scenarios.BodyMatch, got *bundle.Blob) finding {
	switch {
	case m.Empty != nil && *m.Empty && got.Len != 0:
		return l.fails(0, "%s: want none, saw %d bytes: %s", what, got.Len, blobStart(got))
	case m.Empty != nil && !*m.Empty && got.Len == 0:
		return l.fails(-1, "%s: want one, saw none", what)
	}
	if m.Text != nil {
		if f := l.same(what, []byte(l.expand(*m.Text)), got); !f.ok() {
			return f
		}
	}
	if p, set := m.Bytes(); set {
		if f := l.same(what, p, got); !f.ok() {
			return f
		}
	}
	if m.Of != nil {
		want, _ := m.Of.Resolve(l.expand)
		if f := l.same(what, want, got); !f.ok() {
			return f
		}
	}
	if m.Length != nil || m.Digest != "" {
		o := &scenarios.OutputMatch{Length: m.Length, Digest: m.Digest}
		if f := worst(outputLength(l, what, o, got), outputDigest(l, what, o, got)); !f.ok() {
			return f
		}
	}
	if m.Contains != nil {
		if f := l.contains(what, l.expand(*m.Contains), got); !f.ok() {
			return f
		}
	}
	if f := l.matches(what, m.Matches, got); !f.ok() {
		return f
	}
	if m.JSON == nil && m.JSONHas == nil && m.JSONList == nil && len(m.Fields) == 0 {
		return finding{}
	}
	return l.payloadJSON(what, m, got)
}

// matches compares bytes with an expression, "" for none.
func (l *look) matches(what, expression string, got *bundle.Blob) finding {
	re, err := regexp.Compile(l.expand(expression))
	switch {
	case expression == "":
		return finding{}
	case err != nil:
		return l.toolError("%s: the script's expression does not compile: %v", what, err)
	case !got.Whole():
		return l.inconclusive("%s: only a part of the %d bytes was kept", what, got.Len)
	case !re.Match(got.Data):
		return l.fails(-1, "%s: want it to match %s, saw %s", what, phrase.QuoteString(re.String()), phrase.Quote(got.Data))
	}
	return finding{}
}

func (l *look) payloadJSON(what string, m *scenarios.BodyMatch, got *bundle.Blob) finding {
	if !got.Whole() {
		return l.inconclusive("%s: only a part of the %d bytes was kept", what, got.Len)
	}
	text, err := messageJSON(l.x, got.Data)
	if err != nil {
		return l.fails(-1, "%s: %v", what, err)
	}
	v, err := value.Decode(text)
	if err != nil {
		return l.fails(-1, "%s: want one JSON value, saw %s (%v)", what, rest(text), err)
	}
	c := value.Comparison{Expand: l.expand}
	if m.JSON != nil {
		if why := c.Equal("", m.JSON, v); why != "" {
			return l.fails(-1, "%s: %s", what, why)
		}
	}
	if m.JSONHas != nil {
		if why := c.Has("", m.JSONHas, v); why != "" {
			return l.fails(-1, "%s: %s", what, why)
		}
	}
	if m.JSONList != nil {
		if why := c.List("", m.JSONList, v); why != "" {
			return l.fails(-1, "%s: %s", what, why)
		}
	}
	return l.payloadFields(what, m, v)
}

// payloadFields compares the scalars of a body with regular expressions.
func (l *look) payloadFields(what string, m *scenarios.BodyMatch, v any) finding {
	for _, name := range slices.Sorted(maps.Keys(m.Fields)) {
		pattern := m.Fields[name]
		got, present := Scalar(v, name)
		if pattern == nil {
			if present {
				return l.fails(-1, "%s: field %s: want none, saw %s", what, name, phrase.QuoteString(got))
			}
			continue
		}
		re, err := regexp.Compile(l.expand(*pattern))
		switch {
		case err != nil:
			return l.toolError("%s: the script's expression does not compile: %v", what, err)
		case !present && re.MatchString(""):
		case !present:
			return l.fails(-1, "%s: field %s: want one that matches %s, saw none", what, name, phrase.QuoteString(re.String()))
		case !re.MatchString(got):
			return l.fails(-1, "%s: field %s: want it to match %s, saw %s", what, name, phrase.QuoteString(re.String()), phrase.QuoteString(got))
		}
	}
	return finding{}
}

// Scalar returns a field of a JSON value as text, by its dotted name, in which numbers are the
// indices of lists. ok is false if the value does not have it, or has null. An object or a list is
// compact JSON.
func Scalar(v any, field string) (text string, ok bool) {
	for name := range strings.SplitSeq(field, ".") {
		switch container := v.(type) {
		case map[string]any:
			v = container[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(container) {
				return "", false
			}
			v = container[i]
		default:
			return "", false
		}
	}
	switch v := v.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	}
	p, err := json.Marshal(v)
	return string(p), err == nil
}

// FirstMessage returns the JSON of a plain body, or of the first message of an RPC; ok is false
// while there is none. body is that of a response without envelopes.
func FirstMessage(x *bundle.Exchange, body []byte) (text []byte, ok bool) {
	if x.Shape == bundle.ShapePlain {
		return body, true
	}
	if x.Shape == bundle.ShapeUnary && !ofGRPC(x) {
		if x.Returned == nil || status(x) != 200 || x.Error != nil {
			return nil, false
		}
		text, err := messageJSON(x, body)
		return text, err == nil
	}
	all := messagesOf(x)
	if len(all) == 0 || !all[0].payload.Whole() {
		return nil, false
	}
	text, err := messageJSON(x, all[0].payload.Data)
	return text, err == nil
}

// blobStart quotes the first kept bytes.
func blobStart(b *bundle.Blob) string {
	if len(b.Data) > 0 {
		return phrase.Quote(b.Data)
	}
	if len(b.Head) > 0 {
		return phrase.Quote(b.Head)
	}
	return fmt.Sprintf("%d bytes, which were not kept", b.Len)
}
