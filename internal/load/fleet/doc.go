// Package fleet shares the plan of a load run among worker processes, on this machine or on others. NATS coordinates
// them, and HDR histograms merge.
//
// What belongs here: the bus (a NATS server with JetStream, in this process or elsewhere), the plan on it, the barrier with
// its measured clock offsets, the windows that workers publish, their seals, the merge, and what becomes of a run that loses a
// worker or its coordinator. What does not: the streams, the histograms and the books (internal/load), flags (cmd/assay), and
// secrets: no message on the bus has one.
//
// Everything goes through one key-value bucket and one stream for each run:
//
//	run                            the card: versions, number of workers, patience
//	join.SHARD.ATTEMPT             a worker takes a shard, by Create
//	dead.SHARD.ATTEMPT             a worker was lost before the start, so that the shard is free again
//	plan.ROUND                     the job of a round: a load run has one, a soak one for each window
//	ready.ROUND.SHARD.ATTEMPT      the barrier: a worker is ready, with the offset of its clock
//	start.ROUND                    when to begin, in the clock of the coordinator, and with which attempts
//	stop.ROUND                     the round ends early
//	seal.ROUND.SHARD               which windows of the shard count, by Create: the first seal is the only one
//	end                            the run is over
//	assay.RUN.res.ROUND.SHARD.ATTEMPT.SEQ   in the stream: the windows, each on a subject of its own, published once
//
// The merge takes the windows that a seal counts and no other one. A worker seals its shard itself; if it was lost, the
// coordinator seals what was recorded. A worker that comes back later finds the seal, and ends.
package fleet
