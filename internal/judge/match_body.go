package judge

import (
	"fmt"
	"regexp"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
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
	if m.Contains != nil {
		if f := l.contains(what, l.expand(*m.Contains), got); !f.ok() {
			return f
		}
	}
	if m.Matches != "" {
		if f := l.payloadMatches(what, m, got); !f.ok() {
			return f
		}
	}
	if m.JSON == nil && m.JSONHas == nil {
		return finding{}
	}
	return l.payloadJSON(what, m, got)
}

func (l *look) payloadMatches(what string, m *scenarios.BodyMatch, got *bundle.Blob) finding {
	re, err := regexp.Compile(l.expand(m.Matches))
	switch {
	case err != nil:
		return l.ours("%s: the script's expression does not compile: %v", what, err)
	case !got.Whole():
		return l.unclear("%s: only a part of the %d bytes was kept", what, got.Len)
	case !re.Match(got.Data):
		return l.fails(-1, "%s: want it to match %s, saw %s", what, phrase.QuoteString(re.String()), phrase.Quote(got.Data))
	}
	return finding{}
}

func (l *look) payloadJSON(what string, m *scenarios.BodyMatch, got *bundle.Blob) finding {
	if !got.Whole() {
		return l.unclear("%s: only a part of the %d bytes was kept", what, got.Len)
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
	return finding{}
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
