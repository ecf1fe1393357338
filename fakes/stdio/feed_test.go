package stdio

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// output is a message of n bytes.
func output(n int) message { return message{1, []byte(strings.Repeat("x", n))} }

// drained takes all that a reader can take.
func drained(r *reader) (all []message, last taken) {
	for {
		t := r.take(maxPiece)
		if len(t.batch) == 0 {
			return all, t
		}
		all = append(all, t.batch...)
	}
}

func TestEveryReaderOfAFeedGetsEverythingInOrder(t *testing.T) {
	t.Parallel()
	f := newFeed(1 << 20)
	early, count := f.join(), 0
	add := func(n int) {
		for range n {
			f.add(message{1, fmt.Append(nil, count)})
			count++
		}
	}
	add(100)
	late := f.join()
	add(100)
	f.end(ending{code: 3})
	add(1) // too late
	for _, r := range []*reader{early, late, f.join()} {
		all, last := drained(r)
		if len(all) != 200 || last.end == nil || last.end.code != 3 {
			t.Fatalf("%d messages, then %+v", len(all), last)
		}
		for i, m := range all {
			if string(m.data) != strconv.Itoa(i) {
				t.Errorf("message %d is %s", i, m.data)
			}
		}
	}
}

func TestAFeedKeepsTheEndForThoseWhoComeLater(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{0, 1000} {
		f := newFeed(keep)
		slow := f.join()
		for i := range 100 {
			f.add(message{1, fmt.Append(nil, i)})
		}
		if all, _ := drained(slow); len(all) != 100 {
			t.Errorf("a present reader got %d messages", len(all))
		}
		all, _ := drained(f.join())
		size := 0
		for _, m := range all {
			size += m.size()
		}
		if size > keep || size < keep-messageMemory-2 || len(all) > 0 && string(all[len(all)-1].data) != "99" {
			t.Errorf("%d bytes are kept, want %d: %v", size, keep, all)
		}
	}
}

func TestAReaderThatIsFarBehindAFasterOneIsLost(t *testing.T) {
	t.Parallel()
	f := newFeed(0)
	slow, fast := f.join(), f.join()
	for range maxBehind/(1<<20) + 1 {
		f.add(output(1 << 20))
		drained(fast)
	}
	if _, last := drained(slow); !last.lost {
		t.Errorf("%+v", last)
	}
	if f.size > 0 {
		t.Errorf("%d bytes are kept for nobody", f.size)
	}
	f.leave(fast)
	if _, last := drained(fast); !last.lost {
		t.Errorf("a reader that left: %+v", last)
	}
}

func TestAFeedWaitsForItsFastestReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(0)
		waits := func(want bool) {
			t.Helper()
			over := make(chan struct{})
			go func() { f.wait(); close(over) }()
			synctest.Wait()
			select {
			case <-over:
				if want {
					t.Error("it does not wait")
				}
			default:
				if !want {
					t.Error("it waits")
				}
			}
		}
		f.add(output(window))
		waits(false) // nobody reads
		slow, fast := f.join(), f.join()
		f.add(output(window))
		waits(true)
		drained(fast)
		waits(false)
		f.add(output(window))
		f.leave(fast)
		waits(true)
		drained(slow)
		waits(false)
		f.add(output(window))
		waits(true)
		f.leave(slow)
		waits(false)
	})
}
