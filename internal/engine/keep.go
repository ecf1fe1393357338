package engine

import (
	"fmt"

	"assay/internal/bundle"
)

const (
	// keepAll: up to so many iterations, all raw bytes are kept.
	keepAll = 20
	// keepEach: of more, so many of each order, and so many in all, are kept whole anyway.
	keepEach = 3
)

// keeper bounds what the iterations of a scenario take up: of many, the raw bytes
// of those that look like any other are dropped. What was decoded from them,
// their lengths, digests and times stays.
type keeper struct {
	planned int // iterations
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
	}
}

// trimFrames drops the payloads that the events behind them say again. The
// bodies of requests stay: the ledger reads from them what was asked for.
func trimFrames(frames []bundle.Frame) {
	for i := range frames {
		if frames[i].Event >= 0 {
			frames[i].Head = nil
		}
	}
}

// special reports whether an iteration is of interest by itself: something went
// wrong in it, or was in the way.
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
