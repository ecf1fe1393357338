package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"assay/fakes/virtual"
)

func TestOutputIsCutAtNewlinesAndAtThirtyTwoKiB(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	cases := []struct {
		name   string
		writes []string
		want   []string
		rest   string
	}{
		{"one line", []string{"a\n"}, []string{"a\n"}, ""},
		{"several lines in one write", []string{"a\nb\nc"}, []string{"a\n", "b\n"}, "c"},
		{"a line over several writes", []string{"a", "b", "c\n"}, []string{"abc\n"}, ""},
		{"empty lines", []string{"\n\n"}, []string{"\n", "\n"}, ""},
		{"exactly the limit", []string{long}, []string{long}, ""},
		{"one more than the limit", []string{long + "y\n"}, []string{long, "y\n"}, ""},
		{"a line over two blocks", []string{strings.Repeat(long[1:]+"\n", 3) + long[9:] + "\nabcdefghij\nk"}, []string{long[1:] + "\n", long[1:] + "\n", long[1:] + "\n", long[9:] + "\n", "abcdefghij\n"}, "k"},
		{"nothing", []string{""}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var cutter lineCutter
			var got []string
			for _, w := range c.writes {
				cutter.cut([]byte(w), func(p []byte) { got = append(got, string(p)) })
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("pieces %.100q, want %.100q", got, c.want)
			}
			if rest := string(cutter.take()); rest != c.rest {
				t.Errorf("rest %q, want %q", rest, c.rest)
			}
		})
	}
}

func FuzzLineCutterKeepsEveryByte(f *testing.F) {
	f.Add([]byte("a\nb"), 1)
	f.Add(bytes.Repeat([]byte("z"), 100), 7)
	f.Fuzz(func(t *testing.T, p []byte, step int) {
		step = max(1, step)
		var c lineCutter
		var got []byte
		for rest := p; len(rest) > 0; {
			n := min(step, len(rest))
			c.cut(rest[:n], func(piece []byte) {
				if len(piece) > maxLine || bytes.IndexByte(piece[:len(piece)-1], '\n') >= 0 {
					t.Fatalf("piece %q", piece)
				}
				got = append(got, piece...)
			})
			rest = rest[n:]
		}
		if got = append(got, c.take()...); !bytes.Equal(got, p) {
			t.Fatalf("%q in, %q out", p, got)
		}
	})
}

func BenchmarkWriteOfALine(b *testing.B) {
	h := newHub(fair{})
	line := []byte(strings.Repeat("x", 79) + "\n")
	b.ReportAllocs()
	for b.Loop() {
		h.Write(virtual.Stdout, line)
	}
}

func BenchmarkWriteOfManyLines(b *testing.B) {
	h := newHub(fair{})
	lines := []byte(strings.Repeat(strings.Repeat("x", 79)+"\n", 1<<20/80))
	b.ReportAllocs()
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		h.Write(virtual.Stdout, lines)
	}
}

func TestALogKeepsTheLastPieces(t *testing.T) {
	t.Parallel()
	var b logBuffer
	piece := bytes.Repeat([]byte("x"), 1000)
	for range 1000 {
		b.add(piece)
	}
	b.add([]byte("last\n"))
	got := b.bytes()
	if len(got) > maxLog || len(got) < maxLog*9/10 || !bytes.HasSuffix(got, []byte("last\n")) {
		t.Errorf("a log of %d bytes, want at most %d and the last line", len(got), maxLog)
	}
}
