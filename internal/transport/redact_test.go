package transport

import (
	"encoding/base64"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"assay/internal/secret"
)

func TestASecretIsFoundWhereverItStandsInALongBody(t *testing.T) {
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

// A peer decides how long a body becomes.
func TestTheSearchOfALongBodyKeepsOneWindow(t *testing.T) {
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
