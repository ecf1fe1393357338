package target

import (
	"testing"

	"assay/internal/record/bundle"
)

func TestAServerSaysATextOnceItIsWhole(t *testing.T) {
	const opened = `{"type":"opened"}`
	for name, tc := range map[string]struct {
		frames []bundle.Frame
		want   string
	}{
		"one frame":               {[]bundle.Frame{{Flags: 0x81, Event: -1, Whole: true, Head: []byte(opened)}}, opened},
		"its payload has to come": {[]bundle.Frame{{Flags: 0x81, Event: -1, Len: 17}}, ""},
		"in fragments, with a ping between": {[]bundle.Frame{
			{Flags: 0x01, Event: -1, Len: 1}, {Flags: 0x89, Event: -1, Whole: true}, {Flags: 0x80, Event: -1, Whole: true, Head: []byte(opened)},
		}, opened},
		"output is no text": {[]bundle.Frame{
			{Flags: 0x02, Event: -1, Len: 1}, {Flags: 0x80, Event: -1, Whole: true, Head: []byte(opened)},
		}, ""},
		"the exit is no answer": {[]bundle.Frame{{Flags: 0x81, Event: 0, Whole: true, Head: []byte(opened)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := said(bundle.Exchange{Frames: tc.frames}, ""); got != tc.want {
				t.Errorf("saw %q, want %q", got, tc.want)
			}
		})
	}
}
