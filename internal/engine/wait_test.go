package engine

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What goes on, however slowly, is waited for; what stands still is given up.
func TestAWaitIsIdleFromTheLastThingThatHappened(t *testing.T) {
	for name, tc := range map[string]struct {
		every, idle time.Duration
		want        error
		took        time.Duration
	}{
		"five things in time":    {40 * time.Millisecond, 50 * time.Millisecond, nil, 200 * time.Millisecond},
		"the first comes late":   {60 * time.Millisecond, 50 * time.Millisecond, errExpired, 50 * time.Millisecond},
		"without such a limit":   {60 * time.Millisecond, 0, nil, 300 * time.Millisecond},
		"longer than the time":   {300 * time.Millisecond, time.Minute, errExpired, time.Second},
		"as soon as it is there": {time.Nanosecond, time.Minute, nil, 5 * time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, happened := time.Now(), atomic.Int64{}
				err := waitFor(t.Context(), waiting{
					idle: tc.idle,
					met:  func() bool { return happened.Load() == 5 },
					over: func() bool { return false },
					changed: func() <-chan struct{} {
						c := make(chan struct{})
						time.AfterFunc(tc.every, func() { happened.Add(1); close(c) })
						return c
					},
				}, time.Second)
				if took := time.Since(began); !errors.Is(err, tc.want) || took != tc.took {
					t.Errorf("got %v after %v, want %v after %v", err, took, tc.want, tc.took)
				}
				synctest.Wait()
			})
		})
	}
}
