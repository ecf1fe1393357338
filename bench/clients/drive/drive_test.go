package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Short streams are counted and measured, and so are their failures.
func TestShortStreamsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, open atomic.Int64
		var mu sync.Mutex
		most := int64(0) // open at one time
		d := newDriver(Config{Streams: 10, Open: 3}, func(_ context.Context, on func()) error {
			mu.Lock()
			most = max(most, open.Add(1))
			mu.Unlock()
			defer open.Add(-1)
			n := calls.Add(1)
			<-time.After(2 * time.Millisecond) // of the bubble's clock, like all times here
			on()
			<-time.After(3 * time.Millisecond)
			on()
			if n == 4 {
				return errors.New("broken")
			}
			return nil
		})
		d.short(t.Context())
		r := reportOf(t, d)
		if calls.Load() != 10 || most != 3 || r.Failed != 1 || r.Failure != "broken" {
			t.Errorf("%d calls, %d at a time, report %+v", calls.Load(), most, r)
		}
		for name, want := range map[string]int64{"first_event": 2000, "gap": 3000, "end_of_stream": 5000} {
			if l := r.Latency[name]; l.Count != 10 || l.P50/10 != want/10 {
				t.Errorf("%s: %+v, want %d µs", name, l, want)
			}
		}
	})
}

// Held streams begin evenly over the ramp.
func TestHeldStreamsBeginEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var late atomic.Int64
		var n atomic.Int64
		d := newDriver(Config{Streams: 5, Ramp: time.Second}, func(_ context.Context, on func()) error {
			if want := time.Duration(n.Add(1)-1) * 200 * time.Millisecond; time.Since(begin) != want {
				late.Add(1)
			}
			<-time.After(time.Minute) // of the bubble's clock
			on()
			return nil
		})
		d.held(t.Context())
		if late.Load() > 0 || time.Since(begin) != 800*time.Millisecond+time.Minute {
			t.Errorf("%d began at another time; all took %v", late.Load(), time.Since(begin))
		}
	})
}

func reportOf(t *testing.T, d *driver) Report {
	t.Helper()
	var b bytes.Buffer
	if err := d.report(&b); err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}
