package engine

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// longAnswer has a start, n data events with a keepalive in the middle, an end, and an
// end of stream.
func longAnswer(n int) *bundle.Exchange {
	x := &bundle.Exchange{Name: "p"}
	add := func(kind bundle.EventKind) {
		x.Frames = append(x.Frames, bundle.Frame{Off: int64(len(x.Frames)), Event: len(x.Events), Head: []byte("{}")})
		x.Events = append(x.Events, bundle.Event{Kind: kind, Frame: len(x.Frames) - 1, Off: int64(len(x.Events))})
	}
	add(bundle.EventStart)
	for i := range n {
		add(bundle.EventData)
		if i == n/2 {
			add(bundle.EventKeepAlive)
		}
	}
	add(bundle.EventEnd)
	x.Frames = append(x.Frames, bundle.Frame{Flags: 2, Event: -1, Head: []byte("{}")})
	x.EndStream = &bundle.EndStream{Frame: len(x.Frames) - 1}
	return x
}

func TestALongAnswerIsThinnedWithoutLosingItsPlace(t *testing.T) {
	t.Parallel()
	x := longAnswer(10_000)
	note := trim(x)
	if !strings.Contains(note, "9491 data events") {
		t.Errorf("note %q", note)
	}
	kinds := map[bundle.EventKind]int{}
	for i, e := range x.Events {
		kinds[e.Kind]++
		if x.Frames[e.Frame].Event != i {
			t.Fatalf("event %d names frame %d, which names event %d", i, e.Frame, x.Frames[e.Frame].Event)
		}
		if x.Frames[e.Frame].Off != e.Off {
			t.Fatalf("event %d of frame %d is beside frame %d", i, e.Off, x.Frames[e.Frame].Off)
		}
	}
	if kinds[bundle.EventStart] != 1 || kinds[bundle.EventKeepAlive] != 1 || kinds[bundle.EventEnd] != 1 {
		t.Errorf("kinds %v", kinds)
	}
	if last := x.Frames[x.EndStream.Frame]; last.Flags != 2 || last.Head == nil {
		t.Errorf("the end of stream refers to %+v", last)
	}
}

func TestAShortAnswerKeepsItsEvents(t *testing.T) {
	x := longAnswer(100)
	if note := trim(x); note != "" || len(x.Events) != 103 {
		t.Errorf("note %q, %d events", note, len(x.Events))
	}
	if x.Frames[0].Head == nil || x.Frames[50].Head != nil || x.Frames[len(x.Frames)-1].Head == nil {
		t.Error("want the heads of the ends, and not those of the middle")
	}
}

func TestOfManyLikeIterationsTheRawBytesAreDropped(t *testing.T) {
	k := newKeeper(100)
	like := func(outcome bundle.Outcome) *result {
		r := &result{}
		r.Conns = []bundle.Conn{{Sent: bundle.NewBlob([]byte("x"), nil)}}
		r.Exchanges = []bundle.Exchange{{Outcome: outcome}}
		return r
	}
	var kept int
	for range 10 {
		r := like(bundle.OutcomeComplete)
		k.trim(r, "one")
		if r.Conns[0].Sent.Data != nil {
			kept++
		}
		if r.Conns[0].Sent.Len != 1 || r.Conns[0].Sent.SHA256 == "" {
			t.Fatal("length and digest must stay")
		}
	}
	if kept != keepEach {
		t.Errorf("%d kept of one order, want %d", kept, keepEach)
	}
	for name, r := range map[string]*result{"a reset": like(bundle.OutcomeReset), "another order": like(bundle.OutcomeComplete)} {
		if k.trim(r, name); r.Conns[0].Sent.Data == nil {
			t.Errorf("%s was dropped", name)
		}
	}
	if k.note() == "" {
		t.Error("nothing says what was dropped")
	}
}
