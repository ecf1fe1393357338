package gateway

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"assay/fakes/virtual"
)

// The bounds of the fan-out.
const (
	// maxBacklog is the backlog at which a subscriber that is slower than others is
	// dropped: it gets its backlog so far, and then an explicit error. Output is
	// never dropped silently.
	maxBacklog = 8 << 20
	// stallGrace is how long a process waits while none of its readers takes
	// anything. After that, the process continues without them: a client that has
	// vanished must not stop the work.
	stallGrace = 5 * time.Second
	// restDelay is how long an incomplete line waits for more output. It is shorter
	// than people notice and longer than the time between two writes of one printf.
	restDelay = 20 * time.Millisecond
)

// Output receives the writes of a process, in order per stream.
type Output interface {
	// Write may block, which blocks the process.
	Write(s virtual.Stream, p []byte)
	// Finish delivers output that is still held back. Later writes are dropped.
	Finish()
}

// Chunk is one piece of output: the content of one data event.
type Chunk struct {
	Stream virtual.Stream
	Data   []byte
}

// pieceMemory is the memory of a piece of output without its bytes.
const pieceMemory = 32

// size returns the memory of a chunk.
func (c Chunk) size() int { return len(c.Data) + pieceMemory }

// hub distributes the output of one process to its subscribers, line by line, and
// keeps the log. Output without a subscriber is only logged.
type hub struct {
	grace  time.Duration
	fanout Fanout
	pieces bool // output is published as it was written, not line by line

	mu       sync.Mutex
	cutters  [virtual.PTY + 1]lineCutter
	stopRest [virtual.PTY + 1]func() bool
	subs     map[*Subscriber]struct{}
	log      logBuffer
	joined   uint64        // how many have subscribed so far
	finished bool          // no more output
	ended    bool          // the end event is known
	stalled  bool          // no subscriber takes anything; do not wait for them
	free     bool          // do not wait for subscribers any more (the process was killed)
	progress chan struct{} // closed when something was taken; nil while no writer waits
}

var _ Output = (*hub)(nil)

func newHub(f Fanout) *hub {
	return &hub{grace: stallGrace, fanout: f, subs: map[*Subscriber]struct{}{}}
}

// Subscriber receives the output of one process. One goroutine may call its
// methods.
type Subscriber struct {
	hub    *hub
	ready  chan struct{} // holds one token when there may be something to take
	queue  []Chunk
	reader Reader // Backlog counts what is queued, or taken and not yet sent
	lost   bool
}

// subscribe adds a reader of all later output. On a hub that has ended, the reader
// is at its end at once.
func (h *hub) subscribe() *Subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.cutters {
		h.flushRest(virtual.Stream(s)) // it belongs to the earlier readers
	}
	s := &Subscriber{hub: h, ready: make(chan struct{}, 1), reader: Reader{ID: h.joined, Late: h.joined > 0, AfterEnd: h.ended}}
	h.joined++
	if !h.ended {
		h.subs[s] = struct{}{}
	}
	for _, c := range h.fanout.Join(s.reader) {
		s.enqueue(c)
	}
	s.wake()
	return s
}

func (s *Subscriber) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns the queued chunks. ended means that nothing follows; lost means that
// the subscriber was dropped after these chunks. The caller reports each chunk with
// sent.
func (s *Subscriber) take() (batch []Chunk, ended, lost bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	batch, s.queue = s.queue, nil
	return batch, s.hub.ended && !s.lost && s.hub.fanout.Ends(s.reader), s.lost
}

// sent records that a chunk of size n has been sent.
func (s *Subscriber) sent(n int) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.reader.Backlog -= n
	s.hub.moved()
}

// close removes the subscriber and drops its queue.
func (s *Subscriber) close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.fanout.Leave(s.reader) {
		delete(s.hub.subs, s)
	}
	s.queue, s.reader.Backlog = nil, 0
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

// Write cuts p into chunks, queues them, and waits while every reader is behind.
func (h *hub) Write(s virtual.Stream, p []byte) {
	h.mu.Lock()
	if h.finished {
		h.mu.Unlock()
		return
	}
	if stop := h.stopRest[s]; stop != nil {
		stop()
		h.stopRest[s] = nil
	}
	if h.pieces || s > virtual.Stderr {
		for piece := range slices.Chunk(p, maxLine) {
			h.publish(Chunk{s, bytes.Clone(piece)})
		}
	} else {
		h.cutters[s].cut(p, func(line []byte) { h.publish(Chunk{s, line}) })
	}
	if len(h.cutters[s].rest) > 0 {
		h.stopRest[s] = time.AfterFunc(restDelay, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.flushRest(s)
		}).Stop
	}
	h.mu.Unlock()
	h.waitForRoom()
}

// flushRest publishes the incomplete line of a stream. Called with mu held.
func (h *hub) flushRest(s virtual.Stream) {
	if rest := h.cutters[s].take(); rest != nil {
		h.publish(Chunk{s, rest})
	}
}

// publish queues c for every subscriber; it never blocks. Called with mu held.
func (h *hub) publish(c Chunk) {
	h.log.add(c.Data)
	h.fanout.Publish(c)
	for s := range h.subs {
		for range h.fanout.Copies(s.reader, c) {
			if s.reader.Backlog+c.size() > maxBacklog {
				s.lost = true
				delete(h.subs, s)
				s.wake()
				break
			}
			s.enqueue(c)
			s.wake()
		}
	}
}

// enqueue adds c to the queue of s. Called with mu held.
func (s *Subscriber) enqueue(c Chunk) {
	s.queue = append(s.queue, c)
	s.reader.Backlog += c.size()
}

// crowded reports whether a writer has to wait for its subscribers. Called with
// mu held.
func (h *hub) crowded() bool {
	return !h.free && !h.finished && len(h.subs) > 0 && h.fanout.Waits(h.readers, h.stalled)
}

// readers iterates over the readers of all subscribers.
func (h *hub) readers(yield func(Reader) bool) {
	for s := range h.subs {
		if !yield(s.reader) {
			return
		}
	}
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
		stop := time.AfterFunc(h.grace, func() { close(gaveUp) }).Stop
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

// release lets writers continue without waiting for readers: a killed process must
// be able to die.
func (h *hub) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = true
	h.moved()
}

// Finish publishes incomplete lines and ignores all later output.
func (h *hub) Finish() {
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

// end tells every subscriber that the end of the process is known.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for s := range h.subs {
		s.wake()
	}
	clear(h.subs)
}

// logged returns the log so far.
func (h *hub) logged() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.cutters {
		h.flushRest(virtual.Stream(s))
	}
	return h.log.bytes()
}
