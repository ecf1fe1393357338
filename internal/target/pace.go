package target

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"assay/internal/record/bundle"
)

const (
	// mostWait is the longest time that a target can ask for with Retry-After.
	mostWait = time.Minute
	// firstTurn is the wait before a refused request is repeated, if the response names none. Each further one is twice as long.
	firstTurn = 100 * time.Millisecond
	// slowest is the longest interval between two calls.
	slowest = time.Second / 4
	// shut is how often work must be refused in the end, with a plain call, until no call is slowed down any more.
	shut = 4
	// steady is how long an interval stays before it shrinks again.
	steady = time.Second
)

// Pace slows down the calls to a target that refuses some because they are too many: from half of the rate at which it
// began to refuse, the rate grows by a quarter a second while calls wait, and is halved at each refusal. Without a refusal
// it slows nothing down, nor while the target refuses all calls, however few they are. It remembers which calls the target
// has answered.
type Pace struct {
	turn chan struct{} // holds a token while a call waits: the others wait for that

	mu       sync.Mutex
	interval time.Duration // between two calls; 0 is no limit
	next     time.Time     // when the next call may begin
	changed  time.Time     // when the interval changed
	second   time.Time     // the second in which calls counts
	calls    int
	before   int             // the calls of the second before
	waited   time.Duration   // how long any call waited
	admitted map[string]bool // calls that were answered
	vain     int             // how often work was refused in the end, with a plain call
}

func newPace() *Pace { return &Pace{turn: make(chan struct{}, 1), admitted: map[string]bool{}} }

// CallOf names the call of an exchange: without the numbers in its path, which are of one process.
func CallOf(x *bundle.Exchange) string {
	path, _, _ := strings.Cut(x.Request.Path, "?")
	return x.Request.Method + " " + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, path)
}

// Admitted notes that the call of an exchange was answered.
func (p *Pace) Admitted(x *bundle.Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admitted[CallOf(x)] = true
}

// Vain notes that some work was refused however often it was repeated, and whether a plain call is refused as well.
func (p *Pace) Vain(plain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !plain {
		p.vain = 0
	} else if p.vain++; p.vain >= shut {
		p.interval, p.next = 0, time.Time{}
	}
}

// Admits reports whether the call of an exchange was ever answered, also before the scenarios.
func (p *Pace) Admits(x *bundle.Exchange) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.admitted[CallOf(x)]
}

// Wait waits until n calls may begin, and reports whether they had to. It ends with ctx.
func (p *Pace) Wait(ctx context.Context, n int) (waited bool) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return true
	}
	for p.early(ctx) {
		waited = true
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch since := now.Sub(p.second); {
	case since >= 2*time.Second:
		p.second, p.calls, p.before = now, 0, 0
	case since >= time.Second:
		p.second, p.calls, p.before = now, 0, p.calls
	}
	p.calls += n
	if next := now.Add(time.Duration(n) * p.interval); next.After(p.next) { // a refusal may just have set a later one
		p.next = next
	}
	return waited || ctx.Err() != nil
}

// early waits until the next call may begin, as far as that is known; false if it may, or if ctx has ended.
func (p *Pace) early(ctx context.Context) bool {
	began := time.Now()
	p.mu.Lock()
	left := p.next.Sub(began)
	if left > 0 && began.Sub(p.changed) >= steady {
		p.interval -= p.interval / 5
		p.changed = began
	}
	p.mu.Unlock()
	if left <= 0 {
		return false
	}
	select {
	case <-time.After(left):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += time.Since(began)
	return ctx.Err() == nil
}

// Waited returns the time in which a call waited.
func (p *Pace) Waited() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waited
}

// Refused notes that the target refused a call that began so long ago, and asked to wait; 0 if it did not say how long. A
// call that began before the pace changed says nothing about the new one.
func (p *Pace) Refused(age, after time.Duration) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vain >= shut {
		return
	}
	if until := now.Add(min(after, mostWait)); until.After(p.next) {
		p.next = until
	}
	if now.Add(-age).Before(p.changed) {
		return
	}
	p.changed = now
	if p.interval == 0 {
		p.interval = time.Second / time.Duration(max(1, p.before, p.calls))
	}
	p.interval = min(2*p.interval, slowest)
}

// Lifted reports whether the target refuses all calls, however few they are.
func (p *Pace) Lifted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vain >= shut
}

// Limits reports whether the target is known to limit calls.
func (p *Pace) Limits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interval > 0
}

// mostAgain is how often the work of a client is done again because requests of it were refused.
const mostAgain = 4

// again closes the client, and reports whether to do its work again: requests of it were refused as too many, or by
// something in front of the gateway. It waits before that, as long as the responses ask.
func (c *client) again(ctx context.Context, try int) bool {
	_, exchanges := c.rec.Finish(nil)
	after, refused := time.Duration(0), false
	for i := range exchanges {
		x := &exchanges[i]
		kind := x.Refusal()
		if kind == "" && x.Response != nil {
			c.target.pace.Admitted(x)
		}
		if kind == "" || x.Response.Status != http.StatusTooManyRequests && x.Response.Status < http.StatusBadGateway {
			continue // an answer: a page may say that there is nothing, and an error of the protocol is the gateway's
		}
		refused = true
		wanted := x.Response.RetryAfter(time.Now())
		after = max(after, wanted)
		if x.Response.Status == http.StatusTooManyRequests {
			c.target.pace.Refused(c.clock.Since(x.Invoked), wanted)
		}
	}
	return refused && try < mostAgain && GiveWay(ctx, after, try)
}

// GiveWay waits after a refusal: as long as the response asks, or longer with each try. It returns false if ctx ends first, or
// if the response asks for too long.
func GiveWay(ctx context.Context, after time.Duration, try int) bool {
	if after > mostWait {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(max(after, firstTurn<<try)):
		return true
	}
}
