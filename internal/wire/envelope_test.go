package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// sampleStream returns a complete stream with empty, small and large payloads.
func sampleStream() []byte {
	var p []byte
	for _, n := range []int{0, 1, 4, 5, 300} {
		p = AppendEnvelope(p, 0, bytes.Repeat([]byte{'x'}, n))
	}
	p = AppendEnvelope(p, FlagCompressed, []byte("z"))
	return AppendEnvelope(p, FlagEndStream, []byte("{}"))
}

func TestAnySplitOfAStreamGivesTheSameEnvelopes(t *testing.T) {
	good := sampleStream()
	inputs := map[string][]byte{
		"a valid stream":            good,
		"cut in the last payload":   good[:len(good)-1],
		"cut in the last header":    good[:len(good)-4],
		"bytes after the end":       append(slices.Clone(good), 0, 0, 0, 0, 1, 'x'),
		"reserved flags throughout": AppendEnvelope(AppendEnvelope(nil, 0xf0, []byte("a")), 0x0c, nil),
		"length over the limit":     append(AppendEnvelope(nil, 0, []byte("a")), 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6),
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			assertSplitInvariant(t, input, func(chunks [][]byte) []string {
				lines, _ := traceEnvelopes(chunks, 1000)
				return lines
			})
		})
	}
}

func TestAPayloadStaysValidUntilTheNextFeed(t *testing.T) {
	first, second := strings.Repeat("a", 100), strings.Repeat("b", 100)
	p := AppendEnvelope(AppendEnvelope(nil, 0, []byte(first)), 0, []byte(second))
	// The second chunk ends the first envelope and begins the second, so that both are
	// cut and the decoder must hold both.
	_, frames := traceEnvelopes([][]byte{p[:50], p[50:160], p[160:]}, 0)
	if len(frames) != 2 || string(frames[0].Payload) != first || string(frames[1].Payload) != second {
		t.Errorf("payloads were overwritten: %v", frames)
	}
}

func TestAHugeDeclaredLengthAllocatesNothing(t *testing.T) {
	head := []byte{0, 0x7f, 0xff, 0xff, 0xff, 'x'}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d := EnvelopeDecoder{Limit: 1<<32 - 1}
			d.Feed(head)
		}
	}).AllocedBytesPerOp()
	if allocated > 1024 {
		t.Errorf("one byte of a 2 GiB payload allocates %d bytes", allocated)
	}
}

func TestAHugePayloadIsGivenBackAfterIt(t *testing.T) {
	var d EnvelopeDecoder
	p := AppendEnvelope(nil, 0, make([]byte, 4*keepBuffer))
	d.Feed(p[:len(p)/2])
	d.Feed(p[len(p)/2:])
	small := AppendEnvelope(nil, 0, []byte("ab"))
	for range 2 {
		d.Feed(small[:6])
		d.Feed(small[6:])
	}
	if kept := cap(d.payload.cur) + cap(d.payload.delivered); kept > keepBuffer {
		t.Errorf("%d bytes are kept after a payload of %d", kept, 4*keepBuffer)
	}
}

func TestEnvelopesAreDecodedWithoutAllocation(t *testing.T) {
	p := AppendEnvelope(nil, 0, bytes.Repeat([]byte{'x'}, 1000))
	frames := 0
	d := EnvelopeDecoder{OnFrame: func(Frame) { frames++ }}
	tests := map[string]func(){
		"whole envelopes":       func() { d.Feed(p) },
		"cut in the header":     func() { d.Feed(p[:3]); d.Feed(p[3:]) },
		"cut in the payload":    func() { d.Feed(p[:500]); d.Feed(p[500:]) },
		"cut after the header":  func() { d.Feed(p[:5]); d.Feed(p[5:]) },
		"cut into single bytes": func() { feedBytes(&d, p) },
	}
	for name, feed := range tests {
		t.Run(name, func(t *testing.T) {
			feed() // both buffers have grown after two cut frames
			feed()
			before := frames
			if n := testing.AllocsPerRun(100, feed); n != 0 {
				t.Errorf("%v allocations per frame", n)
			}
			if frames-before != 101 {
				t.Errorf("%d frames were decoded, want 101", frames-before)
			}
		})
	}
}

type feedable interface{ Feed([]byte) }

func feedBytes(d feedable, p []byte) {
	for i := range p {
		d.Feed(p[i : i+1])
	}
}

func FuzzEnvelopeDecoder(f *testing.F) {
	f.Add(sampleStream(), uint16(0))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 1}, uint16(3))
	f.Add([]byte{2, 0, 0, 0, 2, '{', '}', 9}, uint16(5))
	f.Fuzz(func(t *testing.T, input []byte, cut uint16) {
		const limit = 1 << 10
		lines, frames := traceEnvelopes([][]byte{input}, limit)
		i := min(int(cut), len(input))
		for _, chunks := range [][][]byte{everyByte(input), {input[:i], input[i:]}} {
			if got, _ := traceEnvelopes(chunks, limit); !slices.Equal(got, lines) {
				t.Fatalf("the split changes the result:\n got %q\nwant %q", got, lines)
			}
		}
		var again []byte
		for _, fr := range frames {
			if fr.Off != int64(len(again)) {
				t.Fatalf("a frame at %d, want %d", fr.Off, len(again))
			}
			again = AppendEnvelope(again, fr.Flags, fr.Payload)
		}
		if !bytes.HasPrefix(input, again) {
			t.Fatalf("encoding the frames again gives %q, not the beginning of the input", again)
		}
		clean := true
		d := EnvelopeDecoder{Limit: limit, OnViolation: orderedWithin(t, len(input), &clean)}
		d.Feed(input)
		d.Close()
		if clean && len(again) != len(input) {
			t.Fatalf("no violation, and %d of %d bytes are not in frames", len(input)-len(again), len(input))
		}
	})
}

// orderedWithin checks that violations are inside the input and ordered by offset; it
// clears clean at the first one.
func orderedWithin(t *testing.T, size int, clean *bool) func(Violation) {
	last := int64(0)
	return func(v Violation) {
		*clean = false
		if v.Off < last || v.Off > int64(size) {
			t.Errorf("violation %v after one at %d, with %d bytes of input", v, last, size)
		}
		if v.Detail == "" {
			t.Errorf("violation %v has no description", v)
		}
		last = v.Off
	}
}

func BenchmarkEnvelopeDecoder(b *testing.B) {
	var p []byte
	const frames = 64
	for range frames {
		p = AppendEnvelope(p, 0, bytes.Repeat([]byte{'x'}, 100))
	}
	bench := func(name string, chunk int) {
		b.Run(name, func(b *testing.B) {
			var d EnvelopeDecoder
			b.ReportAllocs()
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				for rest := p; len(rest) > 0; {
					n := min(chunk, len(rest))
					d.Feed(rest[:n])
					rest = rest[n:]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
		})
	}
	bench("whole", len(p))
	bench("cut", 77)
}
