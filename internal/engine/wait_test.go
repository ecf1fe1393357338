package engine

import (
	"context"
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

// Each byte begins a silence anew, and one that would be longer than the time for it is none.
func TestSilenceBeginsAnewWithEachByte(t *testing.T) {
	for name, tc := range map[string]struct {
		within time.Duration
		want   error
		took   time.Duration
	}{
		"behind three bytes":       {time.Minute, nil, 200 * time.Millisecond},
		"longer than the time":     {150 * time.Millisecond, errExpired, 150 * time.Millisecond},
		"shorter by a little":      {201 * time.Millisecond, nil, 200 * time.Millisecond},
		"too long from the start":  {50 * time.Millisecond, errExpired, 50 * time.Millisecond},
		"not a moment is given it": {0, errExpired, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.within)
				defer cancel()
				began, received := time.Now(), atomic.Int64{}
				err := waitSilent(ctx, 80*time.Millisecond, func() <-chan struct{} {
					c := make(chan struct{})
					if received.Load() < 3 {
						time.AfterFunc(40*time.Millisecond, func() { received.Add(1); close(c) })
					}
					return c
				}, received.Load)
				if took := time.Since(began); !errors.Is(err, tc.want) || took != tc.took {
					t.Errorf("got %v after %v, want %v after %v", err, took, tc.want, tc.took)
				}
				time.Sleep(time.Second) // for the last timer
			})
		})
	}
}

// What is done aside of a context that has ended has a time of its own.
func TestWorkAsideEndsAMomentAfterItsContext(t *testing.T) {
	const normal, after = 5 * time.Second, time.Second
	for name, tc := range map[string]struct{ cancel, want time.Duration }{
		"nothing ends":           {time.Minute, normal},
		"before it":              {0, after},
		"while it is done":       {2 * time.Second, 3 * time.Second},
		"shortly before its end": {4500 * time.Millisecond, normal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				stop := time.AfterFunc(tc.cancel, cancel)
				defer cancel()
				defer stop.Stop()
				if tc.cancel == 0 {
					cancel()
				}
				began := time.Now()
				out, done := aside(ctx, normal, after)
				defer done()
				<-out.Done()
				if took := time.Since(began); took != tc.want {
					t.Errorf("it had %v, want %v", took, tc.want)
				}
			})
		})
	}
}
