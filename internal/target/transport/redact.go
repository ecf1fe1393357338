package transport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// redactor is the redactor of a run, for a record. The zero value changes nothing.
type redactor struct{ *secret.Redactor }

// detail returns the description of a violation without secrets. Package wire, which knows no secrets, quotes the
// beginning of what is wrong.
func (r redactor) detail(s string) string {
	s = r.Text(s)
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '"')
		if at < 0 {
			return b.String() + s
		}
		b.WriteString(s[:at])
		quote, err := strconv.QuotedPrefix(s[at:])
		if err != nil {
			return b.String() + s[at:]
		}
		s = s[at+len(quote):]
		text, _ := strconv.Unquote(quote)
		if clean := r.Cut(text); clean != text {
			quote = strconv.Quote(clean)
		}
		b.WriteString(quote)
	}
}

// failure returns an error without secrets in its text: an error of TLS has the names in the peer's certificate.
func (r redactor) failure(err error) error {
	text := err.Error()
	if clean := r.Text(text); clean != text {
		return &cleanError{clean, err}
	}
	return err
}

// cleanError is an error with a text of its own. It unwraps to the error.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Unwrap() error { return e.err }

// headers returns a copy without secrets in names and values.
func (r redactor) headers(hs []bundle.Header) []bundle.Header {
	out := slices.Clone(hs)
	for i := range out {
		out[i].Name, out[i].Value = r.Text(out[i].Name), r.Value(out[i].Value)
	}
	return out
}

// metadata returns a copy without secrets in names and values.
func (r redactor) metadata(of map[string][]string) map[string][]string {
	if r.Redactor == nil {
		return of
	}
	out := make(map[string][]string, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		clean := r.Text(name)
		for _, v := range of[name] {
			out[clean] = append(out[clean], r.Value(v))
		}
	}
	return out
}

// hideIn marks compressed bytes, in which no redactor finds anything, to be overwritten in the
// record if they contain a secret. plain is what they decompress to, until an error. They may
// contain one, too, if the error is a limit of ours: anyone can decompress the rest.
func (x *Exchange) hideIn(plain, compressed []byte, err error) (hidden bool) {
	r := x.recorder.redact
	if r.Redactor == nil {
		return false
	}
	if clean := r.Bytes(plain); bytes.Equal(clean, plain) && !errors.Is(err, errTooLarge) {
		return false
	}
	x.overwrite(compressed)
	return true
}

// overwrite marks received bytes to be overwritten in the record.
func (x *Exchange) overwrite(piece []byte) {
	x.conn.received.cover(piece, x.keep)
	if x.body != nil {
		x.body.cover(piece, x.keep)
	}
}

// maxHidden is how many pieces of a stream are searched for. The search takes time for each of them, and a
// peer decides how many there are.
const maxHidden = 64

// cover marks a piece to be overwritten wherever it stands. Where there are more than maxHidden different
// pieces, or keep has no memory for one, the whole record is overwritten.
func (s *store) cover(piece []byte, keep func(n int) bool) {
	switch {
	case s.covered || slices.ContainsFunc(s.hidden, func(h []byte) bool { return bytes.Equal(h, piece) }):
	case len(s.hidden) >= maxHidden || len(piece) > s.limit || !keep(len(piece)):
		s.covered, s.hidden = true, nil
	default:
		s.hidden = append(s.hidden, bytes.Clone(piece))
	}
}

// hidePacked hides a compressed body, whole or cut, if it contains a secret.
func (x *Exchange) hidePacked() {
	packed := x.body
	if a, ok := x.answer.(*lineAnswer); ok {
		packed = a.packed
	}
	if x.recorder.redact.Redactor == nil || packed == nil || !bytes.HasPrefix(packed.kept, []byte("\x1f\x8b")) {
		return
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed.kept))
	if err == nil && x.recorder.redact.mayBeWithin(zr, dataLimit) {
		x.overwrite(packed.kept)
	}
}

// mayBeWithin reports whether a secret stands in what is read from from, or may stand there
// because from has at least limit bytes, of which only those are searched.
func (r redactor) mayBeWithin(from io.Reader, limit int64) bool {
	part := io.LimitedReader{R: from, N: limit}
	return r.within(&part) || part.N == 0
}

// searchWindow is how much of a body is searched at a time.
const searchWindow = 64 << 10

// within reports whether a secret stands in what is read from from, until its end or an
// error. It keeps one window of it: a peer decides how long a body becomes.
func (r redactor) within(from io.Reader) bool {
	margin := r.Margin()
	buf := make([]byte, searchWindow+margin)
	for n := 0; ; { // the first n bytes are the end of the last window, which may begin a secret
		more, err := io.ReadFull(from, buf[n:])
		n += more
		if clean := r.Bytes(buf[:n]); !bytes.Equal(clean, buf[:n]) {
			return true
		}
		if err != nil {
			return false
		}
		n = copy(buf, buf[n-margin:n])
	}
}

// hide returns the kept bytes and the tail without what is to be overwritten: without
// anything if that is not in one piece.
func (s *store) hide(kept, tail []byte) ([]byte, []byte) {
	if len(s.hidden) == 0 && !s.covered {
		return kept, tail
	}
	if !s.covered {
		kept, tail = bytes.Clone(kept), bytes.Clone(tail)
		for _, h := range s.hidden {
			inKept, inTail := blank(kept, h), blank(tail, h)
			s.covered = s.covered || !inKept && !inTail
		}
	}
	if s.covered {
		return stars(len(kept)), stars(len(tail))
	}
	return kept, tail
}

// blind returns p, which begins at an offset of the stream, without the secret parts.
func (s *store) blind(p []byte, offset int64) []byte {
	end, cloned := offset+int64(len(p)), false
	for _, e := range s.secret {
		from, to := max(e.from, offset), min(e.to, end)
		if from >= to {
			continue
		}
		if !cloned {
			p, cloned = bytes.Clone(p), true
		}
		copy(p[from-offset:to-offset], stars(int(to-from)))
	}
	return p
}

// inFields reports whether a secret stands in a decoded header block. In HPACK, its escaped forms could not be found.
func (r redactor) inFields(fields []wire.Field) bool {
	return r.Redactor != nil && slices.ContainsFunc(fields, func(f wire.Field) bool {
		return r.Text(f.Name) != f.Name || r.Value(f.Value) != f.Value
	})
}

func stars(n int) []byte { return bytes.Repeat([]byte("*"), n) }

// blank overwrites a piece wherever it stands in p, and reports whether it does.
func blank(p, piece []byte) (found bool) {
	for at := 0; len(piece) > 0; found = true {
		i := bytes.Index(p[at:], piece)
		if i < 0 {
			break
		}
		at += i
		copy(p[at:], stars(len(piece)))
		at += len(piece)
	}
	return found
}
