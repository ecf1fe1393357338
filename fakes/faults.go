package fakes

import (
	"sync"

	"assay/fakes/virtual"
	"assay/internal/wire"
)

// Fault is a gateway broken in one way.
type Fault struct {
	ID     string
	Title  string
	Breaks []string // ids of the rules that it breaks
	Source string   // the real bug
}

// faultDecorator is a fault and how it is put in.
type faultDecorator struct {
	Fault
	install func(*seams)
}

// zooFaults are the faults by id.
func zooFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "eos-dropped",
			Title:  "The end-of-stream envelope of a stream is not sent",
			Breaks: []string{"connect.stream.end-stream-once"},
			Source: "bufbuild/connect-rust#140, connectrpc/conformance#1104",
		}, func(s *seams) { s.frames = around(s.frames, dropEndStream) }},
		{Fault{
			ID:     "exit-code-zeroed",
			Title:  "Every process is said to have ended with exit code 0",
			Breaks: []string{"process.end.exit-code"},
			Source: "cloudflare/sandbox-sdk#873",
		}, func(s *seams) { s.exit = aroundExit(s.exit, zeroExit) }},
		{Fault{
			ID:     "kill-counted-twice",
			Title:  "A killed command is counted at the kill, and once more when it has died",
			Breaks: []string{"coppice.finalize.once", "coppice.metrics.partition"},
			Source: "maximhq/bifrost#7005",
		}, func(s *seams) { s.exit = aroundExit(s.exit, countAgain) }},
		{Fault{
			ID:     "tail-lost",
			Title:  "Output of more than 64 KiB loses what is beyond the last full 64 KiB when the process exits",
			Breaks: []string{"process.output.complete"},
			Source: "e2b-dev/E2B#170",
		}, func(s *seams) { s.output = around(s.output, loseTail) }},
	}
}

// dropEndStream forgets the last envelope of every stream.
func dropEndStream(next frameSink) frameSink {
	return frameSinkFunc(func(flags byte, payload []byte) error {
		if flags&wire.FlagEndStream != 0 {
			return nil
		}
		return next.frame(flags, payload)
	})
}

// zeroedExit tells of a success, whatever happened.
type zeroedExit struct{ exitPath }

func zeroExit(next exitPath, _ counters) exitPath { return zeroedExit{next} }

func (z zeroedExit) ending(p *process) ending {
	z.exitPath.ending(p)
	return endingOf(virtual.Status{})
}

// doubleCount counts a kill again on the exit path.
type doubleCount struct {
	exitPath
	count counters
}

func countAgain(next exitPath, c counters) exitPath { return doubleCount{next, c} }

func (d doubleCount) ending(p *process) ending {
	if p.endedBy() != byItself {
		d.count.finished(finishKilled)
	}
	return d.exitPath.ending(p)
}

// lossyBlock is the size of the buffer that a lossy gateway forgets to empty:
// the usual size of a pipe.
const lossyBlock = 64 << 10

// lossyTail passes the first block of stdout on as it comes, and after it only
// full blocks. What is left when the process exits is lost: with 200 kB the
// last 3,392 bytes.
type lossyTail struct {
	output
	mu     sync.Mutex // several processes may hold one output
	passed int
	held   []byte
}

func loseTail(next output) output { return &lossyTail{output: next} }

func (l *lossyTail) write(s virtual.Stream, p []byte) {
	if s != virtual.Stdout {
		l.output.write(s, p)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := min(len(p), lossyBlock-l.passed); n > 0 {
		l.output.write(s, p[:n])
		l.passed += n
		p = p[n:]
	}
	l.held = append(l.held, p...)
	if full := len(l.held) / lossyBlock * lossyBlock; full > 0 {
		l.output.write(s, l.held[:full])
		l.held = append([]byte(nil), l.held[full:]...)
	}
}
