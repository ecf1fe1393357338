package crash

import "sync"

// Go runs fn on a goroutine of its own. A panic in it ends the program, see Handle. Every goroutine of the program is started by Go or by a
// Group.
func Go(fn func()) {
	go func() {
		defer Catch()
		fn()
	}()
}

// Group is a sync.WaitGroup whose goroutines are those of Go.
type Group struct{ sync.WaitGroup }

// Go runs fn on a goroutine that Wait waits for.
func (g *Group) Go(fn func()) {
	g.WaitGroup.Go(func() {
		defer Catch()
		fn()
	})
}
