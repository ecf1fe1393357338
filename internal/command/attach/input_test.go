package attach

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// waits bounds the waits of these tests.
const waits = 30 * time.Second

// script is an input that gives one piece for each Read.
type script struct {
	pieces []string
	end    error
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, s.end
	}
	n := copy(p, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

// take reads all chunks, until the end of the input or until the user leaves.
func take(t *testing.T, k *keyboard) (all string, ended bool) {
	t.Helper()
	var b bytes.Buffer
	left := k.left
	for {
		select {
		case p, ok := <-k.chunks:
			if !ok {
				return b.String(), true
			}
			b.Write(p)
			continue
		default:
		}
		select {
		case p, ok := <-k.chunks:
			if !ok {
				return b.String(), true
			}
			b.Write(p)
		case <-left:
			for len(k.chunks) > 0 {
				b.Write(<-k.chunks)
			}
			return b.String(), false
		case <-time.After(waits):
			t.Fatal("neither input nor its end")
		}
	}
}

func TestWhatIsTyped(t *testing.T) {
	for name, tc := range map[string]struct {
		in         script
		typed, raw bool
		want       string
		ended      bool
	}{
		"a pipe and its end":                       {script{[]string{"a", "b\x1dc"}, io.EOF}, false, false, "ab\x1dc", true},
		"a pipe that breaks":                       {script{[]string{"a"}, io.ErrUnexpectedEOF}, false, false, "a", true},
		"Ctrl+] alone":                             {script{[]string{"ab", "\x1d", "c"}, io.EOF}, true, true, "ab", false},
		"Ctrl+] among others":                      {script{[]string{"ab\x1dc"}, io.EOF}, true, true, "ab", false},
		"Ctrl+] in a line":                         {script{[]string{"ab\n", "\x1d\n"}, io.EOF}, true, false, "ab\n", false},
		"the end of a terminal in raw mode":        {script{[]string{"a"}, io.EOF}, true, true, "a", false},
		"Ctrl+D in a terminal that is not":         {script{[]string{"a\n"}, io.EOF}, true, false, "a\n", true},
		"a terminal without raw mode that is gone": {script{[]string{"a\n"}, io.ErrClosedPipe}, true, false, "a\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeyboard(&tc.in, tc.typed, tc.raw)
			defer close(k.done)
			if got, ended := take(t, k); got != tc.want || ended != tc.ended {
				t.Errorf("%q, ended %v; want %q, %v", got, ended, tc.want, tc.ended)
			}
		})
	}
}

// Ctrl+] is seen behind any amount of input that nobody takes.
func TestCtrlBracketIsSeenBehindInputThatNobodyTakes(t *testing.T) {
	in := script{end: io.EOF}
	for range typedChunks + 10 {
		in.pieces = append(in.pieces, "x")
	}
	in.pieces = append(in.pieces, "\x1d")
	k := newKeyboard(&in, true, true)
	defer close(k.done)
	select {
	case <-k.left:
	case <-time.After(waits):
		t.Fatal("Ctrl+] was not seen")
	}
	select {
	case <-k.lost:
	default:
		t.Error("nobody is told that input was dropped")
	}
	if got, _ := take(t, k); len(got) != typedChunks {
		t.Errorf("%d keys are kept, want %d", len(got), typedChunks)
	}
	if k.drop() {
		t.Error("there was nothing to drop")
	}
}
