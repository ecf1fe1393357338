package testkit

import (
	"testing"
	"testing/synctest"
	"time"
)

// Limit is the longest that Eventually waits: far longer than a machine at load 100 delays what it waits for.
const Limit = 2 * time.Minute

// look is the time between two looks of Eventually.
const look = 2 * time.Millisecond

// Eventually waits until ok returns nil, and looks every 2 ms. It is for the state of another process or of a kernel, which
// offers no event to wait for. After Limit it fails the test with the last error, and ends it.
func Eventually(t testing.TB, ok func() error) {
	t.Helper()
	for end := time.Now().Add(Limit); ; time.Sleep(look) {
		err := ok()
		if err == nil {
			return
		}
		if t.Context().Err() != nil || time.Now().After(end) {
			t.Fatalf("waited for %v: %v", Limit, err)
		}
	}
}

// Advance lets d of the time of a synctest bubble pass, and returns when every other goroutine of the bubble waits again.
// Outside of a bubble, where it would be a sleep, it panics.
func Advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
