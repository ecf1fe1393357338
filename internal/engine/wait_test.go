package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/testkit"
)

// A wait continues while there is progress, however slow, and gives up without
// progress.
func TestAWaitLastsFromTheLastProgress(t *testing.T) {
	const ms, often = time.Millisecond, 1 << 30
	for name, tc := range map[string]struct {
		every    time.Duration // interval of the changes
		progress int           // how many of those are progress
		things   int           // how many meet the wait
		limit    time.Duration
		want     error
		took     time.Duration
	}{
		"five things in time":      {40 * ms, often, 5, 50 * ms, nil, 200 * ms},
		"the first is late":        {60 * ms, often, 5, 50 * ms, errExpired, 50 * ms},
		"changes without progress": {40 * ms, 0, 5, 50 * ms, errExpired, 50 * ms},
		"progress, and then none":  {40 * ms, 2, 5, 70 * ms, errExpired, 150 * ms},
		"progress without end":     {40 * ms, often, often, 50 * ms, errExpired, 300 * ms},
		"a long limit":             {time.Minute, often, often, 2 * time.Minute, errExpired, 5 * time.Minute},
		"at once":                  {time.Nanosecond, often, 5, time.Minute, nil, 5 * time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				happened, progressed := 0, began
				var next chan struct{}
				err := waitFor(t.Context(), waiting{
					met:   func() bool { mu.Lock(); defer mu.Unlock(); return happened == tc.things },
					over:  func() bool { return false },
					since: func() time.Duration { mu.Lock(); defer mu.Unlock(); return time.Since(progressed) },
					changed: func() <-chan struct{} {
						mu.Lock()
						defer mu.Unlock()
						if next == nil {
							next = make(chan struct{})
							time.AfterFunc(tc.every, func() {
								mu.Lock()
								defer mu.Unlock()
								happened++
								if happened <= tc.progress {
									progressed = time.Now()
								}
								c := next
								next = nil
								close(c)
							})
						}
						return next
					},
				}, lasting(tc.limit))
				if took := time.Since(began); !errors.Is(err, tc.want) || took != tc.took {
					t.Errorf("got %v after %v, want %v after %v", err, took, tc.want, tc.took)
				}
				testkit.Advance(tc.every) // let the last timer fire
			})
		})
	}
}

// Each byte restarts the silence, and a silence that ends after the deadline does not
// count.
func TestSilenceBeginsAnewWithEachByte(t *testing.T) {
	for name, tc := range map[string]struct {
		within time.Duration
		want   error
		took   time.Duration
	}{
		"after three bytes":       {time.Minute, nil, 200 * time.Millisecond},
		"longer than the time":    {150 * time.Millisecond, errExpired, 150 * time.Millisecond},
		"shorter by a little":     {201 * time.Millisecond, nil, 200 * time.Millisecond},
		"too long from the start": {50 * time.Millisecond, errExpired, 50 * time.Millisecond},
		"no time at all":          {0, errExpired, 0},
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
				testkit.Advance(time.Second) // let the last timer fire
			})
		})
	}
}

// All work aside of an interrupted run ends within afterAll of the interrupt.
func TestWorkAsideSharesItsTimeAfterAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := new(env)
		defer e.noteInterrupt(ctx)()
		testkit.Advance(time.Minute)
		cancel()
		synctest.Wait()
		interrupted := time.Now()
		for range 4 {
			out, done := e.aside(ctx, time.Minute, afterInterrupt)
			<-out.Done()
			done()
		}
		if took := time.Since(interrupted); took != afterAll {
			t.Errorf("four pieces of work had %v, want %v", took, afterAll)
		}
	})
}

// Work in an aside context gets its own time after the outer context ends.
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
				out, done := new(env).aside(ctx, normal, after)
				defer done()
				<-out.Done()
				if took := time.Since(began); took != tc.want {
					t.Errorf("it had %v, want %v", took, tc.want)
				}
			})
		})
	}
}
