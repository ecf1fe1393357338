package authproxy

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// accounts hold what each user has open, and when it may open more.
type accounts struct {
	limits Limits
	now    func() time.Time

	mu     sync.Mutex
	byName map[string]*account
}

// account is one user.
type account struct {
	opens *rate.Limiter
	boxes map[string]int // the connections to each sandbox
}

// enter counts a connection of a user to a sandbox; leave, which may be called once, ends it.
func (a *accounts) enter(name, box string) (leave func(), no *refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.of(name)
	if most := a.limits.Sandboxes; most > 0 && u.boxes[box] == 0 && len(u.boxes) >= most {
		return nil, tooManySandboxes()
	}
	if a.limits.Connections > 0 {
		now := a.now()
		turn := u.opens.ReserveN(now, 1)
		if d := turn.DelayFrom(now); d > 0 {
			turn.CancelAt(now)
			return nil, tooOften(d)
		}
	}
	u.boxes[box]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if u.boxes[box]--; u.boxes[box] == 0 {
			delete(u.boxes, box)
		}
	}, nil
}

// of returns the account of a user.
func (a *accounts) of(name string) *account {
	if u, ok := a.byName[name]; ok {
		return u
	}
	every := rate.Every(a.limits.Per / time.Duration(max(1, a.limits.Connections)))
	u := &account{opens: rate.NewLimiter(every, max(1, a.limits.Connections)), boxes: map[string]int{}}
	a.byName[name] = u
	return u
}
