package zoo

import (
	"strings"
	"testing"
	"testing/synctest"

	"assay/fakes/stdio"
)

// recordedSink records the messages.
type recordedSink struct {
	stdio.Sink
	sent []string
}

func (r *recordedSink) Send(m stdio.Message) error {
	r.sent = append(r.sent, string(m.Data))
	return nil
}

func TestAHeldSinkHoldsOutputUntilItsLimitAnotherStreamOrAText(t *testing.T) {
	t.Parallel()
	r := &recordedSink{}
	s := newHeldSink(r, holding{limit: 4})
	send := func(data string) {
		if err := s.Send(stdio.Message{Binary: data[0] < ' ', Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []string{"\x01ab", "\x01cd", "\x01ef", "\x02gh", "{}", "\x02ij"} {
		send(m)
	}
	if got := strings.Join(r.sent, "|"); got != "\x01abcd|\x01ef|\x02gh|{}" {
		t.Errorf("%q", got)
	}
	if err := s.Send(exitMessage(0)); err != nil || r.sent[len(r.sent)-2] != "\x02ij" {
		t.Errorf("%q", r.sent)
	}
}

// The exit comes at once after the output: in a bubble, however busy the machine is.
func TestFaultStdioTailLostOftenLosesThreeTailsInTen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &build{seed: 2}
		loseStdioTails(b)
		lost := 0
		for range 10 {
			r := &recordedSink{}
			s := b.Seams.Stdio(r)
			for _, m := range []stdio.Message{{Binary: true, Data: []byte("\x01a\n")}, exitMessage(0)} {
				if err := s.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			switch got := strings.Join(r.sent, "|"); got {
			case `{"type":"exit","code":0}`:
				lost++
			case "\x01a\n|" + `{"type":"exit","code":0}`:
			default:
				t.Errorf("%q", got)
			}
		}
		if lost != 3 {
			t.Errorf("%d of 10 tails are lost, want 3", lost)
		}
	})
}
