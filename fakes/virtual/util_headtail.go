package virtual

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// span is the range of head and tail.
type span struct {
	n         int64
	bytes     bool
	fromStart bool // tail +N
	follow    bool
	names     []string
}

// parseSpan reads -n N, -nN, -N, -c N, and for tail +N and -f.
func (t *task) parseSpan() (s span, ok bool) {
	s.n = 10
	args := t.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		value := arg[1:]
		switch {
		case arg == "-f" || arg == "-F":
			s.follow = true
			continue
		case arg == "-q" || arg == "-u":
			continue
		case value[0] == 'n' || value[0] == 'c':
			s.bytes = value[0] == 'c'
			if value = value[1:]; value == "" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
		}
		s.fromStart = strings.HasPrefix(value, "+")
		n, err := strconv.ParseUint(strings.TrimPrefix(value, "+"), 10, 62)
		if err != nil {
			t.fail("invalid number: '%s'", value)
			return s, false
		}
		s.n = int64(n)
	}
	s.names = args
	return s, true
}

// header prints ==> NAME <== if there are several files.
func (t *task) header(names []string, name string) error {
	if len(names) < 2 {
		return nil
	}
	lead := ""
	if name != names[0] {
		lead = "\n"
	}
	return t.p.write(1, []byte(lead+"==> "+name+" <==\n"))
}

// errDone ends a complete copy.
var errDone = errors.New("done")

// errExhausted ends a program that is out of memory.
var errExhausted = errors.New("memory exhausted")

// headProgram is head [-n N|-c N] [FILE]….
func headProgram(t *task) int {
	s, ok := t.parseSpan()
	if !ok {
		return 1
	}
	return t.eachInput(s.names, func(name string, f *file) error {
		if err := t.header(s.names, name); err != nil {
			return err
		}
		err := t.headOf(f, s)
		if errors.Is(err, errDone) {
			return nil
		}
		return err
	})
}

func (t *task) headOf(f *file, s span) error {
	left := s.n
	if left == 0 {
		return nil
	}
	if s.bytes {
		return t.headBytes(f, left)
	}
	return t.chunks(f, func(b []byte) error {
		n := 0
		for left > 0 && n < len(b) {
			end := bytes.IndexByte(b[n:], '\n')
			if end < 0 {
				n = len(b)
				break
			}
			n += end + 1
			left--
		}
		if err := t.p.write(1, b[:n]); err != nil {
			return err
		}
		if left == 0 {
			return errDone
		}
		return nil
	})
}

// headBytes copies n bytes and reads no more, because other processes may continue to read.
func (t *task) headBytes(f *file, n int64) error {
	for n > 0 {
		b, err := t.read(f, int(min(n, flushAt)))
		if err != nil {
			return err
		}
		if err := t.p.write(1, b); err != nil {
			return err
		}
		n -= int64(len(b))
	}
	return nil
}

// tailProgram is tail [-n [+]N|-c [+]N] [-f] [FILE]….
func tailProgram(t *task) int {
	s, ok := t.parseSpan()
	if !ok {
		return 1
	}
	return t.eachInput(s.names, func(name string, f *file) error {
		if err := t.header(s.names, name); err != nil {
			return err
		}
		if err := t.tailOf(f, s); err != nil && !isEOF(err) {
			return err
		}
		if s.follow {
			return t.follow(f)
		}
		return nil
	})
}

func (t *task) tailOf(f *file, s span) error {
	if s.fromStart {
		return t.skip(f, s)
	}
	var kept []byte
	limit, full := int(min(s.n, maxValue+1)), 4*flushAt
	err := t.chunks(f, func(b []byte) error {
		if kept = append(kept, b...); len(kept) <= full {
			return nil
		}
		kept = append([]byte(nil), lastOf(kept, limit, s.bytes)...)
		if full = max(full, 2*len(kept)); len(kept) > maxValue {
			return errExhausted
		}
		return nil
	})
	if !isEOF(err) { // it reads to the end, or fails
		return err
	}
	return t.p.write(1, lastOf(kept, limit, s.bytes))
}

// lastOf returns the last n lines or bytes of b.
func lastOf(b []byte, n int, byByte bool) []byte {
	if byByte {
		return b[max(0, len(b)-n):]
	}
	if n == 0 {
		return nil
	}
	end := len(b)
	if end > 0 && b[end-1] == '\n' {
		end--
	}
	for ; n > 0; n-- {
		end = bytes.LastIndexByte(b[:end], '\n')
		if end < 0 {
			return b
		}
	}
	return b[end+1:]
}

// skip prints from the n-th line or byte on.
func (t *task) skip(f *file, s span) error {
	left := max(s.n-1, 0)
	return t.chunks(f, func(b []byte) error {
		if s.bytes {
			n := min(left, int64(len(b)))
			left -= n
			return t.p.write(1, b[n:])
		}
		for left > 0 {
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				return nil
			}
			b = b[end+1:]
			left--
		}
		if len(b) == 0 {
			return nil
		}
		return t.p.write(1, b)
	})
}

// followEvery is the polling interval of tail -f.
const followEvery = 100 * time.Millisecond

// follow prints data appended to a regular file until the process ends. Devices never grow.
func (t *task) follow(f *file) error {
	if _, ok := f.desc.(*regular); !ok {
		<-t.p.done
		return errDead
	}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-t.p.done:
			return errDead
		}
		err := t.chunks(f, func(b []byte) error { return t.p.write(1, b) })
		if !isEOF(err) {
			return err
		}
	}
}
