package stdio

import "sync"

// The bounds of a feed.
const (
	// window is how far a client may be behind before its process waits, if no other client is faster.
	window = 64 << 10
	// maxBehind is how far a client may be behind a faster one before it is given up.
	maxBehind = 8 << 20
	// messageMemory is the memory of a message without its bytes.
	messageMemory = 48
)

// message is one message to the clients of a session.
type message struct {
	stream byte // 0: a text
	data   []byte
}

func (m message) size() int { return len(m.data) + messageMemory }

// feed holds the output of a session: the end of it for those who come later, and all that a present reader has not yet taken.
type feed struct {
	keep int // bytes to keep for later readers

	mu       sync.Mutex
	first    int64 // index of messages[0]
	messages []message
	size     int
	readers  map[*reader]struct{}
	over     bool // no message follows
	ending   ending
	changed  chan struct{} // closed at the next change; nil while nobody waits
}

// ending is the end of a session: the exit code, or an error.
type ending struct {
	code int
	err  error
}

// reader is one reader of a feed.
type reader struct {
	feed   *feed
	next   int64
	behind int
	lost   bool // it was too slow, or has left
}

func newFeed(keep int) *feed { return &feed{keep: keep, readers: map[*reader]struct{}{}} }

// join adds a reader, which begins with what is kept.
func (f *feed) join() *reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &reader{feed: f, next: f.first, behind: f.size}
	f.readers[r] = struct{}{}
	return r
}

// leave removes a reader.
func (f *feed) leave(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, r)
	r.lost = true
	f.trim()
	f.moved()
}

// add appends a message. It returns the index of the message.
func (f *feed) add(m message) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return 0
	}
	f.messages = append(f.messages, m)
	f.size += m.size()
	for r := range f.readers {
		if r.behind += m.size(); r.behind > maxBehind {
			r.lost = true
			delete(f.readers, r)
		}
	}
	f.trim()
	f.moved()
	return f.first + int64(len(f.messages)) - 1
}

// end ends the feed. It does nothing the second time.
func (f *feed) end(e ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.over, f.ending = true, e
		f.moved()
	}
}

// wait blocks while all readers are behind.
func (f *feed) wait() {
	for {
		f.mu.Lock()
		if f.over || !f.crowded() {
			f.mu.Unlock()
			return
		}
		changed := f.waiter()
		f.mu.Unlock()
		<-changed
	}
}

// crowded reports whether all readers are behind. Called with mu held.
func (f *feed) crowded() bool {
	for r := range f.readers {
		if r.behind < window {
			return false
		}
	}
	return len(f.readers) > 0
}

// trim drops the messages that nobody needs. Called with mu held.
func (f *feed) trim() {
	taken := f.first + int64(len(f.messages))
	for r := range f.readers {
		taken = min(taken, r.next)
	}
	n := 0
	for ; f.size > f.keep && f.first < taken; n++ {
		f.size -= f.messages[n].size()
		f.messages[n] = message{}
		f.first++
	}
	f.messages = f.messages[n:]
}

// waiter returns a channel that is closed at the next change. Called with mu held.
func (f *feed) waiter() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// moved wakes all who wait. Called with mu held.
func (f *feed) moved() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// taken is what a reader takes at once. Where batch is empty, either end is set, or lost, or the reader waits for changed.
type taken struct {
	batch   []message
	end     *ending
	lost    bool
	changed <-chan struct{}
}

// take takes up to limit bytes, and at least one message if there is one.
func (r *reader) take(limit int) (t taken) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.lost {
		return taken{lost: true}
	}
	rest := f.messages[r.next-f.first:]
	n, size := 0, 0
	for n < len(rest) && (n == 0 || size+rest[n].size() <= limit) {
		size += rest[n].size()
		n++
	}
	switch {
	case n > 0:
		t.batch = append(t.batch, rest[:n]...)
		r.next += int64(n)
		r.behind -= size
		f.trim()
		f.moved()
	case f.over:
		t.end = &f.ending
	default:
		t.changed = f.waiter()
	}
	return t
}
