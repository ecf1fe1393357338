package stdio

import (
	"syscall"
	"time"
)

// mainPane is the name of the first process of a session.
const mainPane = "main"

// hangUpDelay is the time between SIGTERM and SIGHUP to a process on a terminal: an interactive shell ignores the first.
const hangUpDelay = 5 * time.Second

// pane is one process of a session.
type pane struct {
	session *session
	name    string
	number  int // 0 is the first process
	process Process
	tty     bool
	in      stdin
	// The indexes of its texts in the feed. They belong to the session.
	openedAt, closedAt int64
}

func newPane(s *session, name string, number int, p Process, tty bool) *pane {
	return &pane{session: s, name: name, number: number, process: p, tty: tty, in: stdin{process: p}, closedAt: -1}
}

// stream returns byte 0 of the messages of a stream: 1 and 2 for the first process, 3 and 4 for the next.
func (p *pane) stream(stderr bool) byte {
	n := byte(2*p.number + 1)
	if stderr {
		n++
	}
	return n
}

// run feeds the output of the process to the clients, until its end.
func (p *pane) run() {
	defer p.session.server.followers.Done()
	feed := p.session.feed
	code, err := p.process.Follow(func(stderr bool, data []byte) {
		feed.add(message{p.stream(stderr), data})
		feed.wait()
	})
	p.in.stop()
	p.session.ended(p, ending{code, err})
}

// hangUp tells the process that its clients are gone.
func (p *pane) hangUp() {
	p.process.Signal(syscall.SIGTERM)
	if p.tty {
		p.session.server.options.AfterFunc(hangUpDelay, func() { p.process.Signal(syscall.SIGHUP) })
	}
}
