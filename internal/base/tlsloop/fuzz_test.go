package tlsloop

import "testing"

// However bytes are cut, they are the same records: a prefix of a record is incomplete, and
// what follows it changes nothing. Bytes that cannot begin a record count as one.
func FuzzRecordSize(f *testing.F) {
	f.Add([]byte{22, 3, 3, 0, 2, 1, 2, 23, 3, 3}, 7)
	f.Add([]byte("HTTP/1.1 200 OK\r\n"), 5)
	f.Add([]byte{23, 3, 3, 0xff, 0xff, 0}, 3)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		n := recordSize(p)
		if n < 0 || n > max(len(p), MaxRecord) {
			t.Fatalf("%d, of %d bytes", n, len(p))
		}
		if n >= len(p) {
			return
		}
		if got := recordSize(p[:n]); got != n {
			t.Errorf("a record of %d bytes is one of %d on its own", n, got)
		}
		if cut > 0 && cut < n && recordSize(p[:cut]) <= cut {
			t.Errorf("%d of %d bytes are a record", cut, n)
		}
	})
}
