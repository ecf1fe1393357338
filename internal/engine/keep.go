package engine

import (
	"fmt"

	"assay/internal/record/bundle"
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
