package reports

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// mark is an offset in a body or connection that breaks a rule.
type mark struct {
	off  int64
	text string
}

// dump draws bytes in hexadecimal beside their text, 16, 8 or 4 per row, with the
// offset of each row; a mark is ^^ under its byte, with the reason.
type dump struct {
	base  int64 // offset of data[0]
	data  []byte
	marks []mark
}

// rows draws at most limit rows of bytes in n columns and says how much is omitted.
func (d dump) rows(n, limit int) []string {
	per := 16
	for per > 4 && n < 10+per*3+2+per {
		per /= 2
	}
	var out []string
	for from := 0; from < len(d.data); from += per {
		if len(out) >= limit {
			out = append(out, folded(d.data, len(d.data)-from))
			break
		}
		row := d.data[from:min(from+per, len(d.data))]
		out = append(out, d.row(int64(from), row, per))
		places := len(row)
		if places < per {
			places++ // a mark just after the last byte: bytes are missing there
		}
		out = append(out, d.under(int64(from), places, n)...)
	}
	if len(d.data)%per == 0 {
		out = append(out, d.under(int64(len(d.data)), 1, n)...)
	}
	return out
}

// folded says how many bytes of data are not drawn, with the digest of all of it for
// comparing two runs.
func folded(data []byte, left int) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("… %s folded, sha256 of all %x…", bytesText(int64(left)), sum[:6])
}

// bytesText returns a number of bytes with thousands separators: "12,345 bytes".
func bytesText(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " bytes"
}

func (d dump) row(from int64, row []byte, per int) string {
	var hex, text strings.Builder
	for _, c := range row {
		fmt.Fprintf(&hex, "%02x ", c)
		if c < 0x20 || c > 0x7e {
			c = '.'
		}
		text.WriteByte(c)
	}
	return fmt.Sprintf("%06x  %-*s %s", d.base+from, per*3, hex.String(), text.String())
}

// under draws the marks below a row.
func (d dump) under(from int64, n, columns int) []string {
	var out []string
	for _, m := range d.marks {
		i := m.off - d.base - from
		if i < 0 || i >= int64(n) {
			continue
		}
		lead := strings.Repeat(" ", 8+int(i)*3) + "^^ "
		text := wrap(m.text, columns-4)
		if len(lead)+width(m.text) <= columns {
			out = append(out, lead+m.text)
			continue
		}
		out = append(out, strings.TrimRight(lead, " "))
		for _, l := range text {
			out = append(out, "    "+l)
		}
	}
	return out
}

// around returns the window of data to show for a mark: a row or two before and after
// it. A mark just after the last byte shows the end.
func around(base int64, data []byte, m mark) (dump, bool) {
	i := m.off - base
	if i < 0 || i > int64(len(data)) || len(data) == 0 {
		return dump{}, false
	}
	from := max(0, (i/16-1)*16)
	to := min(int64(len(data)), from+48)
	return dump{base: base + from, data: data[from:to], marks: []mark{m}}, true
}

// known returns the kept bytes of b around an offset, and the offset of the first.
func known(b *bundle.Blob, off int64) (base int64, data []byte) {
	tail := b.Len - int64(len(b.Tail))
	switch {
	case b.Whole():
		return 0, b.Data
	case len(b.Tail) > 0 && off >= tail:
		return tail, b.Tail
	}
	return 0, b.Head
}
