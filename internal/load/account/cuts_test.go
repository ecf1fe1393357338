package account

import (
	"strings"
	"testing"

	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// The long messages of all streams that are incomplete have one limit together. Short ones are not counted: there may be one for each stream.
func TestIncompleteMessagesAreBoundedTogether(t *testing.T) {
	for name, tt := range map[string]struct {
		protocol string
		body     string
	}{
		"an envelope": {load.ProtocolConnect, loadtest.StartEvent(7) + loadtest.Env(0, strings.Repeat("x", 3<<20))},
		"a line":      {load.ProtocolNDJSON, `{"type":"start","pid":7}` + "\n" + strings.Repeat("x", 3<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			for length, tooMuch := range map[int]bool{longCut / 2: false, 2 * longCut: true} {
				f := conduct(plan(t, tt.protocol, load.CodecJSON, load.Check{}), &loadtest.Last{})
				i, s := f.begin()
				f.cuts.long = mostLong // of other streams
				f.feed(i, s, []byte(tt.body[:length]), 64<<10)
				if got := s.has(flagLost); got != tooMuch {
					t.Errorf("%d bytes are too much: %v, want %v", length, got, tooMuch)
				}
				if tooMuch && (s.cut != None || f.cuts.long != mostLong || !strings.Contains(f.extra(i, s).wrong, "over-limit")) {
					t.Errorf("buffer %d, %d bytes are counted, %q", s.cut, f.cuts.long, f.extra(i, s).wrong)
				}
			}
		})
	}
}
