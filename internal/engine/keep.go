package engine

import (
	"fmt"

	"assay/internal/bundle"
)

const (
	// keepAll is the number of iterations up to which all raw bytes are kept.
	keepAll = 20
	// keepEach is how many iterations of each order are kept whole if there are more.
	keepEach = 3
)

// keeper bounds the size of a scenario's iterations: of many, it drops the raw bytes of
// those that look like others. What was decoded from them, their lengths, digests and
// times stay.
type keeper struct {
	planned int // number of iterations
	seen    int
	kept    map[string]int // by order
	dropped int
}

func newKeeper(times int) *keeper {
	return &keeper{planned: times, kept: make(map[string]int)}
}

// trim drops the raw bytes of an iteration that is of no special interest.
func (k *keeper) trim(out *result, order string) {
	k.seen++
	if max(k.planned, k.seen) <= keepAll || special(out) {
		return
	}
	if k.kept[order] < keepEach {
		k.kept[order]++
		return
	}
	k.dropped++
	for i := range out.Conns {
		c := &out.Conns[i]
		c.Sent.Data, c.Received.Data = nil, nil
		c.Sent.Head, c.Sent.Tail, c.Received.Head, c.Received.Tail = nil, nil, nil, nil
		c.Writes, c.Reads = nil, nil
	}
	for i := range out.Exchanges {
		trimFrames(out.Exchanges[i].Frames)
		for _, output := range out.Exchanges[i].Outputs {
			output.Chunks = nil // the data events hold the same
		}
	}
}

// trimFrames drops the payloads that their events repeat. The bodies of requests stay:
// the ledger reads from them what was requested.
func trimFrames(frames []bundle.Frame) {
	for i := range frames {
		if frames[i].Event >= 0 {
			frames[i].Head = nil
		}
	}
}

// special reports whether an iteration is interesting by itself: it failed or was
// disturbed.
func special(out *result) bool {
	if out.Defect != "" || out.expired || out.interrupted || out.refused {
		return true
	}
	for i := range out.Exchanges {
		x := &out.Exchanges[i]
		if x.Outcome != bundle.OutcomeComplete && x.Outcome != bundle.OutcomeAborted || len(x.Violations) > 0 {
			return true
		}
	}
	return false
}

func (k *keeper) note() string {
	if k.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("the raw bytes of %d iterations that looked like others; their decoded exchanges are kept", k.dropped)
}

// sizeOf returns roughly how many bytes an iteration takes.
func sizeOf(it *bundle.Iteration) int64 {
	const frame, event, other = 64, 96, 1024 // of the record alone
	var n int64
	blob := func(b *bundle.Blob) {
		if b != nil {
			n += int64(len(b.Data) + len(b.Head) + len(b.Tail) + frame*len(b.Chunks))
		}
	}
	for i := range it.Conns {
		c := &it.Conns[i]
		blob(&c.Sent)
		blob(&c.Received)
		n += other + int64(frame*(len(c.Writes)+len(c.Reads)+len(c.H2)))
	}
	for i := range it.Exchanges {
		x := &it.Exchanges[i]
		blob(&x.Request.Body)
		blob(x.Body)
		for _, out := range x.Outputs {
			blob(out)
		}
		for j := range x.Frames {
			n += frame + int64(len(x.Frames[j].Head))
		}
		n += other + int64(event*len(x.Events))
	}
	return n
}
