package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const sampleLines = `{"type":"start","pid":87654}` + "\n" +
	`{"type":"stdout","data":"1\n"}` + "\n" +
	`{"type":"end","exit_code":0}` + "\n"

func TestAnySplitOfNDJSONGivesTheSameLines(t *testing.T) {
	inputs := map[string]string{
		"good lines":                sampleLines,
		"no final newline":          strings.TrimSuffix(sampleLines, "\n"),
		"empty lines":               "\n\n{}\n \t\r\n\n",
		"ends in white space":       "{}\n  ",
		"no objects":                "[]\n1\nnull\n<html>\n",
		"invalid UTF-8":             "{\"a\":\"\xff\xfe\"}\n{\"\xff\":1,\"\xff\":2}\n",
		"lines over the limit":      strings.Repeat("x", 60) + "\n{}\n" + strings.Repeat("y", 51),
		"a line at the limit":       `{"a":"` + strings.Repeat("x", 42) + `"}` + "\n",
		"over the limit at the end": strings.Repeat("z", 200),
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			assertSplitInvariant(t, []byte(input), func(chunks [][]byte) []string {
				lines, _ := traceLines(chunks, 50)
				return lines
			})
		})
	}
}

func TestALineStaysValidUntilTheNextFeed(t *testing.T) {
	first, second := `{"a":"`+strings.Repeat("a", 90)+`"}`, `{"b":"`+strings.Repeat("b", 90)+`"}`
	p := []byte(first + "\n" + second + "\n")
	_, lines := traceLines([][]byte{p[:50], p[50:160], p[160:]}, 0)
	if len(lines) != 2 || string(lines[0].Data) != first || string(lines[1].Data) != second {
		t.Errorf("lines were overwritten: %v", lines)
	}
}

func TestAnOverlongLineDoesNotSpoilTheLineDeliveredBefore(t *testing.T) {
	p := []byte(`{"a":"bcdefgh"}` + "\n" + strings.Repeat("x", 50) + "\n" + `{"cut":`)
	_, lines := traceLines([][]byte{p[:10], p[10:]}, 20)
	lines = lines[:min(1, len(lines))] // the last one is truncated
	if len(lines) != 1 || string(lines[0].Data) != `{"a":"bcdefgh"}` {
		t.Errorf("lines = %v", lines)
	}
}

func TestAnEndlessLineIsNotKept(t *testing.T) {
	d := LineDecoder{Limit: 1000}
	chunk := bytes.Repeat([]byte{'x'}, 512)
	for range 10000 {
		d.Feed(chunk)
	}
	if kept := cap(d.cut.cur) + cap(d.cut.delivered); kept > 4096 {
		t.Errorf("%d bytes are kept of a line over the limit of 1000", kept)
	}
}

func TestLinesAreDecodedWithoutAllocation(t *testing.T) {
	p := []byte(`{"type":"stdout","data":"some text \n with escapes é","nested":{"a":[1,2.5e3,true,null]}}` + "\n")
	lines := 0
	d := LineDecoder{OnLine: func(Line) { lines++ }, OnViolation: func(v Violation) { t.Error(v) }}
	tests := map[string]func(){
		"whole lines":           func() { d.Feed(p) },
		"cut lines":             func() { d.Feed(p[:40]); d.Feed(p[40:]) },
		"cut into single bytes": func() { feedBytes(&d, p) },
	}
	for name, feed := range tests {
		t.Run(name, func(t *testing.T) {
			feed()
			feed()
			before := lines
			if n := testing.AllocsPerRun(100, feed); n != 0 {
				t.Errorf("%v allocations per line", n)
			}
			if lines-before != 101 {
				t.Errorf("%d lines were decoded, want 101", lines-before)
			}
		})
	}
}

func FuzzLineDecoder(f *testing.F) {
	f.Add([]byte(sampleLines), uint16(7))
	f.Add([]byte("\n{}\r\n[]"), uint16(1))
	f.Add([]byte("{\"a\":\"\xff\",\"a\":1}\n"), uint16(1))
	f.Fuzz(func(t *testing.T, input []byte, cut uint16) {
		const limit = 1 << 8
		trace, lines := traceLines([][]byte{input}, limit)
		i := min(int(cut), len(input))
		for _, chunks := range [][][]byte{everyByte(input), {input[:i], input[i:]}} {
			if got, _ := traceLines(chunks, limit); !slices.Equal(got, trace) {
				t.Fatalf("the split changes the result:\n got %q\nwant %q", got, trace)
			}
		}
		var again []byte
		for _, l := range lines {
			if !bytes.Equal(l.Data, input[l.Off:l.Off+int64(len(l.Data))]) || bytes.IndexByte(l.Data, '\n') >= 0 || len(l.Data) > limit {
				t.Fatalf("line %q at %d differs from the input there", l.Data, l.Off)
			}
			again = append(append(again, l.Data...), '\n')
		}
		clean := true
		d := LineDecoder{Limit: limit, OnViolation: orderedWithin(t, len(input), &clean)}
		d.Feed(input)
		d.Close()
		if clean && !bytes.Equal(again, input) {
			t.Fatalf("no violation, and encoding the lines again gives %q", again)
		}
	})
}

func BenchmarkLineDecoder(b *testing.B) {
	line := []byte(`{"type":"stdout","data":"` + strings.Repeat("x", 70) + `\n"}` + "\n")
	const lines = 64
	p := bytes.Repeat(line, lines)
	bench := func(name string, chunk int) {
		b.Run(name, func(b *testing.B) {
			var d LineDecoder
			b.ReportAllocs()
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				for rest := p; len(rest) > 0; {
					n := min(chunk, len(rest))
					d.Feed(rest[:n])
					rest = rest[n:]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lines), "ns/line")
		})
	}
	bench("whole", len(p))
	bench("cut", 77)
}
