package reports

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

func TestADumpMarksTheByte(t *testing.T) {
	for _, n := range []int{44, 120} {
		for off := range int64(41) {
			data := bytes.Repeat([]byte{0xab}, 40)
			if off < 40 {
				data[off] = 0x07
			}
			rows := dump{base: 0x100, data: data, marks: []mark{{0x100 + off, "◀ here"}}}.rows(n, 64)
			found := false
			for i, r := range rows {
				at := strings.Index(r, "^^")
				if at < 0 {
					continue
				}
				found = true
				if off < 40 && rows[i-1][at:at+2] != "07" {
					t.Errorf("offset %d is marked in the wrong place:\n%s", off, strings.Join(rows, "\n"))
				}
			}
			if !found {
				t.Errorf("offset %d of 40 is not marked in %d columns", off, n)
			}
		}
	}
}

func TestADumpSaysHowMuchIsLeftOut(t *testing.T) {
	rows := dump{data: make([]byte, 200_000)}.rows(120, 4)
	if len(rows) != 5 || rows[4] != "… 199,936 bytes folded, sha256 of all 4cbbd9be0cba…" {
		t.Errorf("got %q", rows)
	}
}

func TestWhatIsLeftOfALongBlobIsFound(t *testing.T) {
	p := make([]byte, 50_000)
	for i := range p {
		p[i] = byte(i / 251)
	}
	b := bundle.NewBlob(p, nil)
	for _, off := range []int64{0, 100, 49_999, 50_000} {
		base, data := known(&b, off)
		if d, ok := around(base, data, mark{off: off}); !ok || d.data[0] != p[d.base] {
			t.Errorf("offset %d: found %v at %d", off, ok, d.base)
		}
	}
	base, data := known(&b, 25_000)
	if _, ok := around(base, data, mark{off: 25_000}); ok {
		t.Error("found bytes that were not kept")
	}
}

func TestEnvelopesThatWereSentAreToldAsTheyAre(t *testing.T) {
	pieces := envelopes([]byte("\x00\x00\x00\x00\x02hi\x81\x00\x00\x01\x00abc"))
	if len(pieces) != 2 || pieces[0].bad || string(pieces[0].data) != "hi" {
		t.Fatalf("got %+v", pieces)
	}
	if p := pieces[1]; p.off != 7 || !p.bad || p.head != "flags 81 compressed reserved bits  length 256, 3 of them present" || string(p.data) != "abc" {
		t.Errorf("got %+v", p)
	}
	if p := envelopes([]byte{0, 0}); len(p) != 1 || !p[0].bad || p[0].head != "2 bytes of an envelope header" {
		t.Errorf("got %+v", p)
	}
}

func FuzzEnvelopes(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x02hi\x81\xff\xff\xff\xffabc"))
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		for _, p := range envelopes(body) {
			if p.off != int64(n) {
				t.Fatalf("a piece at %d, want %d", p.off, n)
			}
			n += len(p.data)
			if !strings.Contains(p.head, " of an envelope header") {
				n += 5
			}
		}
		if n != len(body) {
			t.Errorf("the pieces have %d bytes, want %d", n, len(body))
		}
	})
}
