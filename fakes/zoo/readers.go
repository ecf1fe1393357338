package zoo

import (
	"context"
	"errors"
	"iter"

	"assay/fakes/gateway"
)

// readerFaults returns the faults in the handling of subscribers that come late or
// leave early.
func readerFaults() []fault {
	return []fault{
		{Fault{
			ID:     "late-reader-deaf",
			Title:  "A client that attaches gets no output",
			Breaks: []string{"process.connect.attach"},
			Source: "e2b-dev/E2B#1587, e2b-dev/E2B#1352",
		}, onFanout(lateSilent)},
		{Fault{
			ID:     "late-reader-doubled",
			Title:  "A client that attaches gets its first piece of output twice",
			Breaks: []string{"process.connect.same-bytes"},
			Source: "e2b-dev/infra#2579: a slice header copied under churn",
		}, onFanout(lateTwice)},
		{Fault{
			ID:     "attach-replays",
			Title:  "A client that attaches gets all output from the beginning",
			Breaks: []string{"process.connect.attach"},
			Source: "gateways that keep all output and replay it to every client that attaches: a reconnecting client gets it twice",
		}, onFanout(replays)},
		{Fault{
			ID:     "slow-reader-drops",
			Title:  "Output for a subscriber that is 512 KiB behind is dropped, and the others read on",
			Breaks: []string{"process.connect.slow-reader"},
			Source: "e2b-dev/infra#3344: dropping silently on a full buffer",
		}, onFanout(dropsBehind)},
		{Fault{
			ID:     "late-reader-forgotten",
			Title:  "A client that attaches to an ended process waits forever",
			Breaks: []string{"process.connect.after-exit"},
			Source: "cloudflare/sandbox-sdk#108",
		}, onFanout(lateForgotten)},
		{Fault{
			ID:     "lost-reader-wedges",
			Title:  "Output waits for a client that has disconnected",
			Breaks: []string{"process.connect.client-gone", "process.output.complete"},
			Source: "e2b-dev/infra#3292, e2b-dev/infra#2639",
		}, func(b *build) { onFanout(lockStep)(b); onFanout(keepsLost)(b) }},
		{Fault{
			ID:     "lost-reader-kills",
			Title:  "The process of a client that disconnects is killed",
			Breaks: []string{"process.connect.client-gone"},
			Source: "e2b-dev/E2B#1074, e2b-dev/E2B#1229",
		}, onGone(func(s *gateway.Stream) {
			_ = s.Table.Kill(gateway.Selector{PID: s.Process.PID}) // it may have ended
		})},
	}
}

// onFollow decorates the loop that sends events to a stream.
func onFollow(follow func(ctx context.Context, s *gateway.Stream, next gateway.Follow) error) func(*build) {
	return func(b *build) {
		b.Seams.Follow = around(b.Seams.Follow, func(next gateway.Follow) gateway.Follow {
			return func(ctx context.Context, s *gateway.Stream) error { return follow(ctx, s, next) }
		})
	}
}

// onGone acts when the client of a Start disconnects.
func onGone(act func(*gateway.Stream)) func(*build) {
	return onFollow(func(ctx context.Context, s *gateway.Stream, next gateway.Follow) error {
		err := next(ctx, s)
		if s.Started && errors.Is(ctx.Err(), context.Canceled) {
			act(s)
		}
		return err
	})
}

// onFanout decorates the distribution of output.
func onFanout(decorate func(next gateway.Fanout) gateway.Fanout) func(*build) {
	return func(b *build) { b.Seams.Fanout = around(b.Seams.Fanout, decorate) }
}

// silentFanout gives output only to the first reader.
type silentFanout struct{ gateway.Fanout }

func lateSilent(next gateway.Fanout) gateway.Fanout { return silentFanout{next} }

func (f silentFanout) Copies(r gateway.Reader, c gateway.Chunk) int {
	if r.Late {
		return 0
	}
	return f.Fanout.Copies(r, c)
}

// twiceFanout gives a later reader its first piece of output twice.
type twiceFanout struct {
	gateway.Fanout
	served map[uint64]bool
}

func lateTwice(next gateway.Fanout) gateway.Fanout { return twiceFanout{next, map[uint64]bool{}} }

func (f twiceFanout) Copies(r gateway.Reader, c gateway.Chunk) int {
	n := f.Fanout.Copies(r, c)
	if r.Late && n > 0 && !f.served[r.ID] {
		f.served[r.ID] = true
		n++
	}
	return n
}

// maxReplay is how much output is replayed: half of the backlog at which a reader is
// dropped.
const maxReplay = 4 << 20

// replayFanout gives a later reader all output from the beginning, up to maxReplay.
type replayFanout struct {
	gateway.Fanout
	history []gateway.Chunk
	kept    int // bytes of history
}

func replays(next gateway.Fanout) gateway.Fanout { return &replayFanout{Fanout: next} }

func (f *replayFanout) Publish(c gateway.Chunk) {
	f.Fanout.Publish(c)
	f.history = append(f.history, c)
	for f.kept += len(c.Data); f.kept > maxReplay; f.history = f.history[1:] {
		f.kept -= len(f.history[0].Data)
	}
}

func (f *replayFanout) Join(r gateway.Reader) []gateway.Chunk {
	if !r.Late {
		return f.Fanout.Join(r)
	}
	return append(f.Fanout.Join(r), f.history...)
}

// The limits of a fanout that drops: a process waits for its fastest reader from
// dropWater on, so that a single reader misses nothing.
const (
	dropWater   = 64 << 10
	dropBacklog = 512 << 10
)

// droppingFanout drops output silently for a reader that is dropBacklog behind.
type droppingFanout struct{ gateway.Fanout }

func dropsBehind(next gateway.Fanout) gateway.Fanout { return droppingFanout{next} }

func (f droppingFanout) Copies(r gateway.Reader, c gateway.Chunk) int {
	if r.Backlog > dropBacklog {
		return 0
	}
	return f.Fanout.Copies(r, c)
}

func (droppingFanout) Waits(readers iter.Seq[gateway.Reader], stalled bool) bool {
	return !stalled && gateway.AllBehind(readers, dropWater)
}

// forgetfulFanout does not tell a reader that comes after the end of the process
// that it has ended.
type forgetfulFanout struct{ gateway.Fanout }

func lateForgotten(next gateway.Fanout) gateway.Fanout { return forgetfulFanout{next} }

func (f forgetfulFanout) Ends(r gateway.Reader) bool { return !r.AfterEnd && f.Fanout.Ends(r) }

// lockStepFanout makes a process wait for all of its readers, without limit, once
// pipeSize of output waits for one of them.
type lockStepFanout struct{ gateway.Fanout }

func lockStep(next gateway.Fanout) gateway.Fanout { return lockStepFanout{next} }

func (lockStepFanout) Waits(readers iter.Seq[gateway.Reader], _ bool) bool {
	for r := range readers {
		if r.Backlog >= pipeSize {
			return true
		}
	}
	return false
}

// keepingFanout makes a process wait, forever, for readers that have gone.
type keepingFanout struct {
	gateway.Fanout
	gone map[uint64]bool
}

func keepsLost(next gateway.Fanout) gateway.Fanout { return keepingFanout{next, map[uint64]bool{}} }

func (f keepingFanout) Leave(r gateway.Reader) bool {
	f.gone[r.ID] = true
	return false
}

func (f keepingFanout) Waits(readers iter.Seq[gateway.Reader], stalled bool) bool {
	for r := range readers {
		if f.gone[r.ID] && r.Backlog > 0 {
			return true
		}
	}
	return f.Fanout.Waits(readers, stalled)
}

// pipeSize is the capacity of a pipe of the operating system.
const pipeSize = 64 << 10
