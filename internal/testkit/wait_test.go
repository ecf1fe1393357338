package testkit

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// ended is a test that Fatalf has ended.
type ended struct {
	testing.TB
	message string
}

func (e *ended) Helper() {}

func (e *ended) Fatalf(format string, _ ...any) {
	e.message = format
	panic(e)
}

func TestEventuallyLooksUntilItIsSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		Eventually(t, func() error {
			if looks++; looks < 5 {
				return errors.New("not yet")
			}
			return nil
		})
		if looks != 5 {
			t.Errorf("looked %d times", looks)
		}
	})
}

func TestEventuallyEndsATestInWhichItIsNeverSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, begun := &ended{TB: t}, time.Now()
		defer func() {
			if took := time.Since(begun); recover() != any(e) || e.message == "" || took < Limit || took > Limit+time.Second {
				t.Errorf("ended with %q after %v", e.message, took)
			}
		}()
		Eventually(e, func() error { return errors.New("never") })
	})
}

func TestAdvanceReturnsWhenWhatTheTimeCausesIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Bool
		time.AfterFunc(time.Minute, func() { done.Store(true) })
		Advance(time.Minute - 1)
		if done.Load() {
			t.Error("done too early")
		}
		if Advance(1); !done.Load() {
			t.Error("not done")
		}
	})
}

func TestAdvanceIsNoSleepOutsideOfABubble(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Advance(0)
}
