package judge

import (
	"fmt"
	"regexp"

	"assay/internal/bundle"
)

// matchBody holds a body that is not enveloped, or the only message of a unary answer;
// that one is compared as JSON in every codec.
func matchBody(l *look) finding {
	m := l.m.Body
	got := l.x.Body
	if got == nil {
		got = &bundle.Blob{}
	}
	switch {
	case m.Empty != nil && *m.Empty && got.Len != 0:
		return l.fails(0, "body: want none, saw %d bytes: %s", got.Len, blobStart(got))
	case m.Empty != nil && !*m.Empty && got.Len == 0:
		return l.fails(-1, "body: want one, saw none")
	}
	if m.Text != nil {
		if f := l.same("body", []byte(l.expand(*m.Text)), got); !f.ok() {
			return f
		}
	}
	if m.Contains != nil {
		if f := l.contains("body", l.expand(*m.Contains), got); !f.ok() {
			return f
		}
	}
	if m.Matches != "" {
		if f := l.bodyMatches(got); !f.ok() {
			return f
		}
	}
	if m.JSON == nil && m.JSONHas == nil {
		return finding{}
	}
	return l.bodyJSON(got)
}

func (l *look) bodyMatches(got *bundle.Blob) finding {
	re, err := regexp.Compile(l.expand(l.m.Body.Matches))
	switch {
	case err != nil:
		return l.ours("body: the script's expression does not compile: %v", err)
	case !got.Whole():
		return l.unclear("body: %d bytes came and were not kept whole", got.Len)
	case !re.Match(got.Data):
		return l.fails(-1, "body: want it to match %s, saw %s", quoteString(re.String()), quote(got.Data))
	}
	return finding{}
}

func (l *look) bodyJSON(got *bundle.Blob) finding {
	if !got.Whole() {
		return l.unclear("body: %d bytes came and were not kept whole", got.Len)
	}
	text, err := messageJSON(l.x, got.Data)
	if err != nil {
		return l.fails(-1, "body: %v", err)
	}
	v, err := decodeJSON(text)
	if err != nil {
		return l.fails(-1, "body: want one JSON value, saw %s (%v)", rest(text), err)
	}
	c := comparison{expand: l.expand}
	if l.m.Body.JSON != nil {
		if why := c.equal("", l.m.Body.JSON, v); why != "" {
			return l.fails(-1, "body: %s", why)
		}
	}
	if l.m.Body.JSONHas != nil {
		if why := c.has("", l.m.Body.JSONHas, v); why != "" {
			return l.fails(-1, "body: %s", why)
		}
	}
	return finding{}
}

// blobStart quotes the beginning of what is kept.
func blobStart(b *bundle.Blob) string {
	if len(b.Data) > 0 {
		return quote(b.Data)
	}
	if len(b.Head) > 0 {
		return quote(b.Head)
	}
	return fmt.Sprintf("%d bytes that are gone", b.Len)
}
