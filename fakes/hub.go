package fakes

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"assay/fakes/virtual"
)

// The bounds of the fan-out.
const (
	// highWater is the backlog at which a subscriber counts as behind. A
	// process waits while all of its subscribers are behind: it runs at the
	// pace of the fastest reader, so a single slow reader gets every byte.
	highWater = 1 << 20
	// maxBacklog is the backlog at which a subscriber that is slower than
	// others is given up: it gets what it has so far, and then an explicit
	// error. Nothing is ever dropped in silence.
	maxBacklog = 8 << 20
	// stallGrace is how long a process waits for readers of which none takes
	// anything at all. After it, the process runs on without them: a client
	// that is gone without a trace must not stop the work.
	stallGrace = 5 * time.Second
	// restDelay is how long an unterminated rest of a line waits for more.
	// It is short against what people notice and long against the time
	// between two writes of one printf.
	restDelay = 20 * time.Millisecond
)

// hubPolicy is how the fan-out behaves. The zero value is the reference's.
type hubPolicy struct {
	// pieces sends output as it was written, not line by line.
	pieces bool
	// lockStep makes a process wait for every one of its subscribers, for as
	// long as it takes, once pipeSize of output wait for it.
	lockStep bool
	// keepsLost goes on to count subscribers that have gone, and waits until
	// they take what is written: for ever.
	keepsLost bool
	// lateSilent gives no output to subscribers but the first.
	lateSilent bool
	// lateTwice gives a later subscriber its first piece of output twice.
	lateTwice bool
	// replays gives a later subscriber all output from the beginning, up to
	// maxReplay of it.
	replays bool
	// dropsBehind leaves output out, in silence, for a subscriber that is
	// dropBacklog behind.
	dropsBehind bool
	// lateForgotten never tells a subscriber of a process that has ended that
	// it has.
	lateForgotten bool
}

// maxReplay is how much output is kept to be replayed. It fits the backlog of a
// subscriber twice.
const maxReplay = maxBacklog / 2

// The bounds of a fan-out that drops: a process waits for its fastest reader from
// dropWater on, so a single reader misses nothing.
const (
	dropWater   = 64 << 10
	dropBacklog = 512 << 10
)

// pipeSize is what a pipe of the operating system holds.
const pipeSize = 64 << 10

// output takes what a process writes, in the order of its writes per stream.
type output interface {
	// write may block, and then the process does.
	write(s virtual.Stream, p []byte)
	// finish delivers what is still held back. Writes after it are dropped.
	finish()
}

// chunk is one piece of output: what becomes one data event.
type chunk struct {
	stream virtual.Stream
	data   []byte
}

// hub hands the output of one process to its subscribers, line by line, and
// keeps the log. Output with no subscriber is only logged.
type hub struct {
	clock  clock
	grace  time.Duration
	policy hubPolicy

	mu       sync.Mutex
	cutters  [virtual.PTY + 1]lineCutter
	stopRest [virtual.PTY + 1]func() bool
	subs     map[*subscriber]struct{}
	log      logBuffer
	history  []chunk       // to be replayed
	kept     int           // bytes of history
	known    bool          // somebody has subscribed
	finished bool          // no more output
	ended    bool          // the end event is known
	stalled  bool          // no subscriber takes anything; do not wait for them
	free     bool          // do not wait for subscribers any more (the process was killed)
	progress chan struct{} // closed when something was taken; nil while no writer waits
}

var _ output = (*hub)(nil)

func newHub(c clock, policy hubPolicy) *hub {
	return &hub{clock: c, grace: stallGrace, policy: policy, subs: map[*subscriber]struct{}{}}
}

// subscriber is one reader of a hub. Its methods are for one goroutine.
type subscriber struct {
	hub     *hub
	ready   chan struct{} // holds one token when there may be something to take
	queue   []chunk
	backlog int // bytes queued or taken and not yet sent
	lost    bool
	late    bool // not the first of its process
	twice   bool // is to get its next piece twice
	// forgotten is not told that the process has ended.
	forgotten bool
	left      bool // has gone and is still counted
}

// subscribe adds a reader of all that is written from now on. On a hub that
// has ended, it is at its end at once.
func (h *hub) subscribe() *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.cutters {
		h.flushRest(virtual.Stream(s)) // it belongs to those who were here before
	}
	s := &subscriber{hub: h, ready: make(chan struct{}, 1), late: h.known}
	s.twice, h.known = s.late && h.policy.lateTwice, true
	s.forgotten = h.ended && h.policy.lateForgotten
	if !h.ended {
		h.subs[s] = struct{}{}
	}
	if s.late {
		s.queue, s.backlog = slices.Clone(h.history), h.kept
	}
	s.wake()
	return s
}

func (s *subscriber) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns what is queued. ended says that nothing follows, lost that the
// subscriber was given up after these chunks. The caller reports each chunk as
// sent when it is.
func (s *subscriber) take() (batch []chunk, ended, lost bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	batch, s.queue = s.queue, nil
	return batch, s.hub.ended && !s.lost && !s.forgotten, s.lost
}

// sent says that a chunk of n bytes has left.
func (s *subscriber) sent(n int) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.backlog -= n
	s.hub.moved()
}

// close removes the subscriber; what it had queued is dropped.
func (s *subscriber) close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.left = s.hub.policy.keepsLost; !s.left {
		delete(s.hub.subs, s)
	}
	s.queue, s.backlog = nil, 0
	s.hub.moved()
}

// moved wakes the writers that wait for room. Called with mu held.
func (h *hub) moved() {
	h.stalled = false
	if h.progress != nil {
		close(h.progress)
		h.progress = nil
	}
}

// write cuts p into chunks, queues them, and waits while every reader is
// behind.
func (h *hub) write(s virtual.Stream, p []byte) {
	h.mu.Lock()
	if h.finished {
		h.mu.Unlock()
		return
	}
	if stop := h.stopRest[s]; stop != nil {
		stop()
		h.stopRest[s] = nil
	}
	if h.policy.pieces || s > virtual.Stderr {
		for piece := range slices.Chunk(bytes.Clone(p), maxLine) {
			h.publish(chunk{s, piece})
		}
	} else {
		h.cutters[s].cut(p, func(line []byte) { h.publish(chunk{s, line}) })
	}
	if len(h.cutters[s].rest) > 0 {
		h.stopRest[s] = h.clock.AfterFunc(restDelay, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.flushRest(s)
		})
	}
	h.mu.Unlock()
	h.waitForRoom()
}

// flushRest publishes the unterminated rest of a stream. Called with mu held.
func (h *hub) flushRest(s virtual.Stream) {
	if rest := h.cutters[s].take(); rest != nil {
		h.publish(chunk{s, rest})
	}
}

// publish queues c for every subscriber; it never blocks. Called with mu held.
func (h *hub) publish(c chunk) {
	h.log.add(c.data)
	h.keep(c)
	for s := range h.subs {
		if s.late && h.policy.lateSilent || h.policy.dropsBehind && s.backlog > dropBacklog {
			continue
		}
		if s.twice {
			s.twice = false
			s.queue = append(s.queue, c)
			s.backlog += len(c.data)
		}
		if s.backlog+len(c.data) > maxBacklog {
			s.lost = true
			delete(h.subs, s)
			s.wake()
			continue
		}
		s.queue = append(s.queue, c)
		s.backlog += len(c.data)
		s.wake()
	}
}

// keep adds c to what is replayed. Called with mu held.
func (h *hub) keep(c chunk) {
	if !h.policy.replays {
		return
	}
	h.history = append(h.history, c)
	for h.kept += len(c.data); h.kept > maxReplay; h.history = h.history[1:] {
		h.kept -= len(h.history[0].data)
	}
}

// crowded reports whether a writer has to wait: there are subscribers, and all
// of them are behind. Called with mu held.
func (h *hub) crowded() bool {
	if h.free || h.finished || len(h.subs) == 0 {
		return false
	}
	if h.policy.lockStep {
		for s := range h.subs {
			if s.backlog >= pipeSize || s.left && s.backlog > 0 {
				return true
			}
		}
		return false
	}
	if h.stalled {
		return false
	}
	behind := highWater
	if h.policy.dropsBehind {
		behind = dropWater
	}
	for s := range h.subs {
		if s.backlog < behind {
			return false
		}
	}
	return true
}

func (h *hub) waitForRoom() {
	for {
		h.mu.Lock()
		if !h.crowded() {
			h.mu.Unlock()
			return
		}
		if h.progress == nil {
			h.progress = make(chan struct{})
		}
		progress := h.progress
		h.mu.Unlock()

		gaveUp := make(chan struct{})
		stop := h.clock.AfterFunc(h.grace, func() { close(gaveUp) })
		select {
		case <-progress:
			stop()
		case <-gaveUp:
			h.mu.Lock()
			h.stalled = h.progress == progress
			h.mu.Unlock()
		}
	}
}

// release lets writers go on without waiting for readers: a killed process
// must be able to die.
func (h *hub) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = true
	h.moved()
}

// finish publishes what is unterminated and ignores all output that follows.
func (h *hub) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s, stop := range h.stopRest {
		if stop != nil {
			stop()
		}
		h.flushRest(virtual.Stream(s))
	}
	h.finished = true
	h.moved()
}

// end tells every subscriber that the process's end is known.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for s := range h.subs {
		s.wake()
	}
	clear(h.subs)
}

// logged is the log so far.
func (h *hub) logged() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.cutters {
		h.flushRest(virtual.Stream(s))
	}
	return h.log.bytes()
}
