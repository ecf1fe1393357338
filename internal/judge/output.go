package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

func matchStdout(l *look) finding { return l.output("stdout", l.m.Stdout) }
func matchStderr(l *look) finding { return l.output("stderr", l.m.Stderr) }
func matchPTY(l *look) finding    { return l.output("pty", l.m.PTY) }

// output compares the concatenated bytes of a stream with a matcher. A stream without data is
// empty.
func (l *look) output(stream string, m *scenarios.OutputMatch) finding {
	got := l.x.Outputs[stream]
	if got == nil {
		got = &bundle.Blob{}
	}
	for _, part := range []func(*look, string, *scenarios.OutputMatch, *bundle.Blob) finding{
		outputExact, outputLength, outputDigest, outputPrefixOf, outputSuffixOf, outputContains, outputMatches,
	} {
		if f := part(l, stream, m, got); !f.ok() {
			if f.at.Off < 0 {
				return f
			}
			f.at.Off = l.bodyOff(stream, f.at.Off)
			return f
		}
	}
	return finding{}
}

// bodyOff returns the body offset of the frame with this offset of an output, or -1.
func (l *look) bodyOff(stream string, off int64) int64 {
	for e := range bundle.Each(l.x.Events) {
		if e.Kind == bundle.EventData && e.Stream == stream && e.Off <= off && off < e.Off+int64(e.Len) {
			return frameOff(l.x, e.Frame)
		}
	}
	return -1
}

// differs returns the breach for the first difference, at offset off of the output.
func (l *look) differs(stream string, off int64, want, got []byte) finding {
	return l.fails(off, "%s differs at byte %d: want %s, saw %s%s", stream, off, rest(want), rest(got), l.frameAt(stream, off))
}

func (l *look) frameAt(stream string, off int64) string {
	if o := l.bodyOff(stream, off); o >= 0 {
		return fmt.Sprintf(" (body offset %d)", o)
	}
	return ""
}

// rest quotes the bytes from a difference on, or says that the output ends there.
func rest(p []byte) string {
	if len(p) == 0 {
		return "the end"
	}
	return phrase.Quote(p)
}

func outputExact(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	want, set := m.Resolve(l.expand)
	if !set {
		return finding{}
	}
	return l.same(stream, want, got)
}

// same compares an output with the wanted bytes: directly if all of it was kept, else by length
// and digest; the kept parts then locate the difference.
func (l *look) same(stream string, want []byte, got *bundle.Blob) finding {
	if got.Whole() {
		if i, differ := firstDifference(got.Data, want); differ {
			return l.differs(stream, int64(i), want[min(i, len(want)):], got.Data[min(i, len(got.Data)):]).as(lossSymptom(i, got.Data, want))
		}
		return finding{}
	}
	switch {
	case got.Len == int64(len(want)) && strings.EqualFold(got.SHA256, digest(want)):
		return finding{}
	case got.SHA256 == "" && got.Len == int64(len(want)):
		return l.inconclusive("%s: neither the bytes nor a digest was kept", stream)
	}
	return l.differsKept(stream, want, got)
}

// differsKept finds the first difference in the kept parts of a long output.
func (l *look) differsKept(stream string, want []byte, got *bundle.Blob) finding {
	if d := got.Diff; d != nil && d.Off >= d.From {
		skip := int(min(d.Off-d.From, 1<<20))
		return l.differs(stream, d.Off, d.Want[min(skip, len(d.Want)):], d.Got[min(skip, len(d.Got)):]).as(keptSymptom(d.Off, got.Len, int64(len(want))))
	}
	head := got.Head
	if i, differ := firstDifference(head, want[:min(len(head), len(want))]); differ {
		return l.differs(stream, int64(i), want[min(i, len(want)):], head[i:])
	}
	if n := int64(len(want)); got.Len != n {
		return l.fails(min(got.Len, n), "%s: want %d bytes, saw %d (it ends in %s, want %s)",
			stream, n, got.Len, ending(got.Tail), ending(want)).as(lengthSymptom(got.Len, n))
	}
	return l.fails(-1, "%s: the length of %d bytes is right, the content is wrong: want SHA-256 %.16s…, saw %.16s…",
		stream, got.Len, digest(want), got.SHA256)
}

func ending(p []byte) string {
	const most = 24
	if len(p) == 0 {
		return "nothing"
	}
	if len(p) > most {
		p = p[len(p)-most:]
	}
	return phrase.Quote(p)
}

func outputLength(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	if m.Length == nil || *m.Length == got.Len {
		return finding{}
	}
	return l.fails(min(got.Len, *m.Length), "%s: want %d bytes, saw %d", stream, *m.Length, got.Len).as(lengthSymptom(got.Len, *m.Length))
}

func outputDigest(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	if m.Digest == "" {
		return finding{}
	}
	sum, ok := blobDigest(got)
	switch {
	case !ok:
		return l.inconclusive("%s: neither the bytes nor a digest was kept", stream)
	case !strings.EqualFold(sum, m.Digest):
		return l.fails(-1, "%s: want SHA-256 %s, saw %s (%d bytes)", stream, m.Digest, sum, got.Len)
	}
	return finding{}
}

func outputPrefixOf(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	if m.PrefixOf == nil {
		return finding{}
	}
	whole, _ := m.PrefixOf.Resolve(l.expand)
	if got.Len > int64(len(whole)) {
		return l.fails(int64(len(whole)), "%s: want a prefix of %s, saw %d bytes more", stream, phrase.Quote(whole), got.Len-int64(len(whole)))
	}
	return l.same(stream, whole[:max(0, got.Len)], got)
}

func outputSuffixOf(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	if m.SuffixOf == nil {
		return finding{}
	}
	whole, _ := m.SuffixOf.Resolve(l.expand)
	if got.Len > int64(len(whole)) {
		return l.fails(int64(len(whole)), "%s: want a suffix of %s, saw %d bytes more", stream, ending(whole), got.Len-int64(len(whole)))
	}
	return l.same(stream, whole[len(whole)-int(max(0, got.Len)):], got)
}

func outputContains(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	if m.Contains == nil {
		return finding{}
	}
	return l.contains(stream, l.expand(*m.Contains), got)
}

// contains looks for a text in the kept parts of a byte string.
func (l *look) contains(what, text string, got *bundle.Blob) finding {
	part := []byte(text)
	switch {
	case bytes.Contains(got.Data, part), bytes.Contains(got.Head, part), bytes.Contains(got.Tail, part):
		return finding{}
	case !got.Whole():
		return l.inconclusive("%s: %s is neither in the first nor in the last bytes, and the rest was not kept", what, phrase.Quote(part))
	}
	return l.fails(-1, "%s: want it to contain %s, saw %s", what, phrase.Quote(part), phrase.Quote(got.Data)).as(partSymptom(what, got))
}

func outputMatches(l *look, stream string, m *scenarios.OutputMatch, got *bundle.Blob) finding {
	f := l.matches(stream, m.Matches, got)
	if f.grade == violated {
		f.symptom = partSymptom(stream, got)
	}
	return f
}

// firstDifference returns the first index at which a and b differ; the end of the shorter one
// counts as a difference.
func firstDifference(a, b []byte) (int, bool) {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i, true
		}
	}
	return n, len(a) != len(b)
}

func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}

// blobDigest returns the SHA-256 of a blob, if it is known.
func blobDigest(b *bundle.Blob) (string, bool) {
	if b.Whole() {
		return digest(b.Data), true
	}
	return strings.ToLower(b.SHA256), b.SHA256 != ""
}
