package zoo

import (
	"errors"
	"math"
	"os"
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/internal/base/crash"
)

// soakFaults returns the faults that need time: no scenario sees them, a soak does.
func soakFaults() []fault {
	return []fault{
		{Fault{
			ID:     "leaks-descriptors",
			Title:  "One file stays open for every 500 commands",
			Source: "gateways that lose a descriptor on a rare path, such as a start that its client gave up",
		}, onEveryStart(func() func(n int) {
			return func(n int) {
				if n%descriptorEvery == 0 {
					if f, err := os.Open(os.DevNull); err == nil {
						keep(f)
					}
				}
			}
		})},
		{Fault{
			ID:     "leaks-goroutines",
			Title:  "One goroutine stays for every 100 commands",
			Source: "ollama/ollama#17131: a goroutine stays for a client that disconnected",
		}, func(b *build) {
			done := make(chan struct{})
			onEveryStart(func() func(n int) {
				return func(n int) {
					if n%goroutineEvery == 0 {
						crash.Go(func() {
							<-done
						})
					}
				}
			})(b)
			whenClosed(b, func() error { close(done); return nil })
		}},
		{Fault{
			ID:     "leaks-memory",
			Title:  "1 kB of memory stays for every command",
			Source: "e2b-dev/infra#3503: a timer stays for each start that failed",
		}, onEveryStart(func() func(n int) {
			var kept [][]byte
			return func(int) {
				b := make([]byte, 1000)
				for i := range b { // touched, so that it is resident
					b[i] = byte(i)
				}
				kept = append(kept, b)
			}
		})},
		{Fault{
			ID:     "slows-down",
			Title:  "A start takes 50 ms, and 1 % more each minute",
			Source: "tables that only grow, and are searched at each start",
		}, func(b *build) {
			s := &slowdown{began: time.Now(), now: time.Now}
			onTable(func(next gateway.Table) gateway.Table {
				return startHook{next, func() { time.Sleep(s.delay()) }}
			})(b)
		}},
	}
}

const (
	descriptorEvery = 500
	goroutineEvery  = 100
)

// opened are the files of the fault leaks-descriptors. Nothing closes them: the collector would, if they were
// forgotten.
var opened struct {
	sync.Mutex
	files []*os.File
}

func keep(f *os.File) {
	opened.Lock()
	defer opened.Unlock()
	opened.files = append(opened.files, f)
}

// startHook calls before before each start.
type startHook struct {
	gateway.Table
	before func()
}

func (h startHook) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	h.before()
	return h.Table.Start(s)
}

// onEveryStart calls what begin returns at each start, one call at a time, with the number of the start.
func onEveryStart(begin func() func(n int)) func(*build) {
	return func(b *build) {
		var mu sync.Mutex
		n, do := 0, begin()
		onTable(func(next gateway.Table) gateway.Table {
			return startHook{next, func() {
				mu.Lock()
				defer mu.Unlock()
				n++
				do(n)
			}}
		})(b)
	}
}

// whenClosed adds a function to what runs when the gateway closes.
func whenClosed(b *build, do func() error) {
	inner := b.Seams.Close
	b.Seams.Close = func() error {
		var err error
		if inner != nil {
			err = inner()
		}
		return errors.Join(err, do())
	}
}

// slowdown is the delay of a start, which grows with time.
type slowdown struct {
	began time.Time
	now   func() time.Time
}

// The delay of a start at the beginning, and its growth in a minute.
const (
	slowAtFirst = 50 * time.Millisecond
	slowGrowth  = 1.01
)

func (s *slowdown) delay() time.Duration {
	return time.Duration(float64(slowAtFirst) * math.Pow(slowGrowth, s.now().Sub(s.began).Minutes()))
}

// SoakFaults lists the faults that only a soak sees, sorted by id. They break no rule of the catalogue.
func SoakFaults() []Fault {
	var out []Fault
	for _, f := range soakFaults() {
		out = append(out, f.Fault)
	}
	return out
}
