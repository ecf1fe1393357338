package transport

import (
	"encoding/base64"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"assay/internal/base/secret"
	"assay/internal/testkit"
	"assay/internal/wire"
)

func TestASecretIsFoundWhereverItStandsInALongBody(t *testing.T) {
	t.Parallel()
	const text = "s3cret-of-the-run"
	r := redactor{Redactor: secret.New([]string{text})}
	for name, form := range map[string]string{"plain": text, "base64": base64.StdEncoding.EncodeToString([]byte("x" + text))} {
		for at := searchWindow - 2*len(form); at < searchWindow+r.Margin()+len(form); at += 3 {
			body := strings.Repeat(" ", at) + form + strings.Repeat(" ", searchWindow)
			if !r.within(strings.NewReader(body)) {
				t.Errorf("%s at byte %d is not found", name, at)
			}
			if cut := body[:at+len(form)-len(form)/2]; r.within(strings.NewReader(cut)) {
				t.Errorf("%s: half of it is found at byte %d", name, at)
			}
		}
	}
	if !r.within(iotest.DataErrReader(iotest.HalfReader(strings.NewReader(text)))) {
		t.Error("it is not found at the end of a body that comes in pieces")
	}
	if r.within(iotest.ErrReader(io.ErrUnexpectedEOF)) {
		t.Error("it is found in nothing")
	}
}

// What lies behind the limit of a search may contain a secret.
func TestABodyThatIsNotSearchedToItsEndMayContainASecret(t *testing.T) {
	const text, limit = "s3cret-of-the-run", searchWindow + 100
	r := redactor{Redactor: secret.New([]string{text})}
	for name, tt := range map[string]struct {
		body string
		want bool
	}{
		"before the limit": {text + strings.Repeat(" ", 1000), true},
		"none, shorter":    {strings.Repeat(" ", limit-1), false},
		"behind the limit": {strings.Repeat(" ", limit) + text, true},
		"across the limit": {strings.Repeat(" ", limit-5) + text, true},
		"nothing":          {"", false},
	} {
		if got := r.mayBeWithin(strings.NewReader(tt.body), limit); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A peer decides how long a body becomes.
func TestTheSearchOfALongBodyKeepsOneWindow(t *testing.T) {
	if !testkit.Alone(t) {
		return
	}
	r := redactor{Redactor: secret.New([]string{"s3cret-of-the-run"})}
	zeros := io.LimitReader(zeroes{}, dataLimit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if r.within(zeros) {
		t.Error("a secret is found in zeros")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > dataLimit/8 {
		t.Errorf("%d bytes are allocated for a body of %d", n, dataLimit)
	}
}

// zeroes is an endless body of zeros.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A server cuts a body where its buffer is full, also in the middle of a secret.
func TestASecretThatFramingSplitsIsFoundInReceivedBytes(t *testing.T) {
	const text = "s3cret-of-the-run"
	r := redactor{Redactor: secret.New([]string{text})}
	hidden := strings.Repeat("*", len(text))
	for name, between := range map[string]string{
		"a chunk":                         "\r\n1f\r\n",
		"a chunk with an extension":       "\r\n800;name=\"value\"\r\n",
		"a DATA frame":                    "\x00\x40\x00\x00\x00\x00\x00\x00\x07",
		"the last DATA frame":             "\x00\x00\x09\x00\x01\x7f\xff\xff\xff",
		"a chunk with leading zeros":      "\r\n0000000000001f\r\n",
		"a chunk with a padded extension": "\r\n1f ; a\r\n",
	} {
		for at := 1; at < len(text); at++ {
			head, rest := "HTTP/1.1 200 OK\r\n\r\n1e\r\n", " and more\r\n0\r\n\r\n"
			in := []byte(head + text[:at] + between + text[at:] + rest)
			want := head + hidden[:at] + between + hidden[at:] + rest
			before := string(in)
			if got := string(r.received(in)); got != want || string(in) != before {
				t.Errorf("%s behind %d bytes: %q, want %q", name, at, got, want)
			}
		}
		piecewise := "x" + between + strings.Join(strings.Split(text, ""), between) + between
		if got := string(r.received([]byte(piecewise))); got != "x"+between+strings.Repeat("*"+between, len(text)) {
			t.Errorf("%s around each byte: %q", name, got)
		}
	}
	for _, other := range []string{"", "\r\n", "\r\n1", "\r\n1f", "\r\n1f\r", "\r\nxyz\r\n", "\r\n" + strings.Repeat("1", 300), "\x00\x00", "a\r\n1f\r\nb"} {
		if got := string(r.received([]byte(other))); got != other {
			t.Errorf("%q becomes %q", other, got)
		}
	}
}

// Package wire cuts what it quotes, so that half of a secret can stand at the end of a quote.
func TestADetailHasNoBeginningOfASecret(t *testing.T) {
	const text = "s3cret-of-the-run"
	r := redactor{Redactor: secret.New([]string{text})}
	for detail, want := range map[string]string{
		`the field line "X-Name s3cret-of" has no colon`:      `the field line "X-Name *********" has no colon`,
		`"a \"quote\": s3cr" is not a field name`:             `"a \"quote\": ****" is not a field name`,
		`the details say "s3cret", grpc-message says "s3cre"`: `the details say "******", grpc-message says "*****"`,
		"its value is s3cret-of-the-run":                      "its value is *****************",
		`an unfinished "quote`:                                `an unfinished "quote`,
	} {
		if got := r.detail(detail); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", detail, got, want)
		}
	}
	found := 0
	d := wire.ResponseDecoder{OnViolation: func(v wire.Violation) {
		found++
		if got := r.detail(v.Detail); !strings.Contains(v.Detail, text[:4]) || strings.Contains(got, text[:4]) {
			t.Errorf("%s\nbecame %s", v.Detail, got)
		}
	}}
	d.Feed([]byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 56) + text + "\r\n\r\n"))
	if found == 0 {
		t.Error("a field line without a colon is no violation")
	}
}
