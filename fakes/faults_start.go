package fakes

import "assay/fakes/virtual"

// seldom is in how many Starts one goes wrong.
const seldom = 10

// startFaults fail to begin, or to say that they have begun.
func startFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "start-refused",
			Title:  "One Start in 10 is refused as invalid_argument, because the machine has no process left",
			Breaks: []string{"process.start.begins"},
			Source: "e2b-dev/infra#3503: EAGAIN of a fork told as a fault of the request",
		}, func(s *seams, seed uint64) {
			refused := newShare(1, seldom, seed)
			s.table = around(s.table, func(next processTable) processTable { return crowdedStart{next, refused} })
		}},
		{Fault{
			ID:     "start-never-told",
			Title:  "Of one Start in 10 nothing is ever told: its stream stays open and silent",
			Breaks: []string{"process.start.begins", "process.end.once"},
			Source: "cloudflare/sandbox-sdk#108: the process has ended before its listener is there",
		}, func(s *seams, seed uint64) { s.mute = newShare(1, seldom, seed) }},
	}
}

// crowdedStart cannot fork, of a share of the times.
type crowdedStart struct {
	processTable
	refused *share
}

func (c crowdedStart) start(s spec) (*process, *subscriber, error) {
	if c.refused.strikes() {
		return nil, nil, &virtual.SpawnError{Reason: "fork/exec " + s.config.GetCmd() + ": resource temporarily unavailable"}
	}
	return c.processTable.start(s)
}
