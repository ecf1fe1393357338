package stdio

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"assay/internal/base/crash"
)

// maxStdin is how much stdin waits for a process. Beyond it, nothing is read from the client, whose connection fills up.
const maxStdin = 1 << 20

// inputMemory is the memory of a message that waits, without its bytes.
const inputMemory = 64

// errStdinEnded refuses stdin behind eof.
var errStdinEnded = errors.New("stdin has ended")

// stdin is the input that waits for a process. Its writer goroutine lives while something waits.
type stdin struct {
	process Process

	mu      sync.Mutex
	queue   [][]byte
	size    int
	ended   bool // by eof
	over    bool // the process has ended, or does not read stdin any more: the rest is dropped
	writing bool
	changed chan struct{} // closed at the next change; nil while nobody waits
}

// add queues data. It waits for room until quit is closed.
func (in *stdin) add(data []byte, quit <-chan struct{}) error {
	for {
		in.mu.Lock()
		switch {
		case in.over || len(data) == 0:
			in.mu.Unlock()
			return nil
		case in.ended:
			in.mu.Unlock()
			return errStdinEnded
		case in.size < maxStdin:
			in.queue = append(in.queue, bytes.Clone(data)) // its buffer may be much larger
			in.size += len(data) + inputMemory
			in.work()
			in.mu.Unlock()
			return nil
		}
		if in.changed == nil {
			in.changed = make(chan struct{})
		}
		changed := in.changed
		in.mu.Unlock()
		select {
		case <-changed:
		case <-quit:
			return nil
		}
	}
}

// end ends stdin behind what waits. It is idempotent.
func (in *stdin) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.work()
}

// stop drops what waits, because the process has ended.
func (in *stdin) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over = true
	in.drop()
}

// work starts the writer. Called with mu held.
func (in *stdin) work() {
	if !in.writing {
		in.writing = true
		crash.Go(in.write)
	}
}

// drop drops what waits. Called with mu held.
func (in *stdin) drop() {
	in.queue, in.size = nil, 0
	in.moved()
}

// moved wakes those who wait for room. Called with mu held.
func (in *stdin) moved() {
	if in.changed != nil {
		close(in.changed)
		in.changed = nil
	}
}

// write writes until nothing waits.
func (in *stdin) write() {
	for {
		data, more := in.next()
		if !more {
			return
		}
		err := in.process.Write(context.Background(), data)
		in.mu.Lock()
		if in.size = max(0, in.size-len(data)-inputMemory); err != nil {
			in.over = true
			in.drop()
		}
		in.moved()
		in.mu.Unlock()
	}
}

// next takes the next piece; at the end of stdin it closes the pipe.
func (in *stdin) next() (data []byte, more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) > 0 {
		data, in.queue = in.queue[0], in.queue[1:]
		return data, true
	}
	if in.ended && !in.over {
		in.process.CloseStdin()
	}
	in.writing = false
	return nil, false
}
