package strict

import "assay/internal/base/crash"

// Aside runs fn on a goroutine of its own, and returns its error. A stack shrinks only while less than a quarter of it is in use, so a
// handler that waits for hours runs what needs much stack for a moment, as protojson does, aside.
func Aside(fn func() error) error {
	done := make(chan error, 1)
	crash.Go(func() {
		done <- fn()
	})
	return <-done
}
