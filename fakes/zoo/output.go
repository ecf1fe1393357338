package zoo

import (
	"bytes"
	"sync"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
)

// dropEvery is the number of lines of which line-dropped drops one.
const dropEvery = 1000

// scanLimit is the longest line that a scanner with a fixed buffer reads: that
// of bufio.Scanner.
const scanLimit = 64 << 10

// outputFaults returns the faults that lose output between a process and the
// fan-out.
func outputFaults() []fault {
	return []fault{
		{Fault{
			ID:     "tail-lost",
			Title:  "Output of more than 64 KiB loses the bytes after the last full 64 KiB when the process exits",
			Breaks: []string{"process.output.complete"},
			Source: "e2b-dev/E2B#170",
		}, onOutput(func(next gateway.Output) gateway.Output { return &lossyTail{Output: next} })},
		{Fault{
			ID:     "last-line-lost",
			Title:  "A last line without a newline is not sent",
			Breaks: []string{"process.output.complete", "process.output.exact", "stdio.output.prompt"},
			Source: "opensandbox-group/OpenSandbox#148",
		}, onOutput(func(next gateway.Output) gateway.Output { return &wholeLines{Output: next} })},
		{Fault{
			ID:     "long-line-lost",
			Title:  "Nothing is read after a line of more than 64 KiB",
			Breaks: []string{"process.output.complete"},
			Source: "e2b-dev/infra#129: a scanner with a fixed buffer",
		}, onOutput(func(next gateway.Output) gateway.Output { return &scanner{Output: next} })},
		{Fault{
			ID:     "line-dropped",
			Title:  "One line in 1,000 is dropped",
			Breaks: []string{"process.output.complete", "commands.stream.output"},
			Source: "e2b-dev/infra#3344: dropping on a full buffer",
		}, dropLines},
		{Fault{
			ID:     "tail-lost-often",
			Title:  "3 of 10 commands lose the last chunk of their output, of at most 4 KiB, when they exit",
			Breaks: []string{"process.output.complete"},
			Source: "boxlite#563, boxlite#705: the exit is reported before the reader of the pipes is done, even for short output",
		}, loseTails},
	}
}

// lossyChunk is the size of the reads of a hasty reader: a page.
const lossyChunk = 4 << 10

// loseTails gives 3 of 10 commands a hasty reader.
func loseTails(b *build) {
	lossy := newShare(3, 10, b.seed)
	onOutput(func(next gateway.Output) gateway.Output {
		return &hastyReader{Output: next, chunk: lossyChunk, hasty: lossy.strikes()}
	})(b)
}

// onOutput decorates the output of every process.
func onOutput(decorate func(next gateway.Output) gateway.Output) func(*build) {
	return onProcessOutput(func(_ *gateway.Process, next gateway.Output) gateway.Output { return decorate(next) })
}

// onProcessOutput is onOutput with the process.
func onProcessOutput(decorate func(p *gateway.Process, next gateway.Output) gateway.Output) func(*build) {
	return func(b *build) {
		inner := b.Seams.Output
		b.Seams.Output = func(p *gateway.Process, next gateway.Output) gateway.Output {
			if inner != nil {
				next = inner(p, next)
			}
			return decorate(p, next)
		}
	}
}

// lossyBlock is the size of the buffer that a lossy gateway forgets to flush:
// the usual size of a pipe.
const lossyBlock = 64 << 10

// lossyTail passes the first block of stdout on at once, and then only full
// blocks. The rest is lost when the process exits: with 200 kB the last 3,392
// bytes.
type lossyTail struct {
	gateway.Output
	mu     sync.Mutex // several processes may hold one output
	passed int
	held   []byte
}

func (l *lossyTail) Write(s virtual.Stream, p []byte) {
	if s != virtual.Stdout {
		l.Output.Write(s, p)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := min(len(p), lossyBlock-l.passed); n > 0 {
		l.Output.Write(s, p[:n])
		l.passed += n
		p = p[n:]
	}
	l.held = append(l.held, p...)
	if full := len(l.held) / lossyBlock * lossyBlock; full > 0 {
		l.Output.Write(s, l.held[:full])
		l.held = append([]byte(nil), l.held[full:]...)
	}
}

// wholeLines passes on complete lines only.
type wholeLines struct {
	gateway.Output
	mu   sync.Mutex
	held [virtual.PTY + 1][]byte
}

func (l *wholeLines) Write(s virtual.Stream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[s] = append(l.held[s], p...)
	if n := bytes.LastIndexByte(l.held[s], '\n') + 1; n > 0 {
		l.Output.Write(s, l.held[s][:n])
		l.held[s] = append([]byte(nil), l.held[s][n:]...)
	}
}

// scanner stops at a line that does not fit its buffer.
type scanner struct {
	gateway.Output
	mu    sync.Mutex
	line  [virtual.PTY + 1]int // length of the line so far
	blind [virtual.PTY + 1]bool
}

func (l *scanner) Write(s virtual.Stream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(p) > 0 && !l.blind[s] {
		n := bytes.IndexByte(p, '\n') + 1
		piece := p
		if n > 0 {
			piece = p[:n]
		}
		if l.line[s]+len(piece) > scanLimit {
			l.blind[s] = true
			return
		}
		l.Output.Write(s, piece)
		if l.line[s] += len(piece); n > 0 {
			l.line[s] = 0
		}
		p = p[len(piece):]
	}
}

// dropLines counts the lines of all processes together, so that a thousand
// short streams lose as many lines as one long stream. The seed is the start of
// the count.
func dropLines(b *build) {
	dropped := newShare(1, dropEvery, b.seed)
	onOutput(func(next gateway.Output) gateway.Output { return &lossyLines{Output: next, dropped: dropped} })(b)
}

// lossyLines counts the newlines of stdout and drops every dropEvery-th line.
type lossyLines struct {
	gateway.Output
	dropped *share // of the lines of the gateway
}

func (l *lossyLines) Write(s virtual.Stream, p []byte) {
	if s != virtual.Stdout {
		l.Output.Write(s, p)
		return
	}
	kept := make([]byte, 0, len(p))
	for line := range bytes.Lines(p) {
		if line[len(line)-1] == '\n' && l.dropped.strikes() {
			continue
		}
		kept = append(kept, line...)
	}
	if len(kept) > 0 {
		l.Output.Write(s, kept)
	}
}
