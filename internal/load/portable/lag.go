package portable

import (
	"context"
	"encoding/binary"
	"os"
	"time"

	"assay/internal/base/crash"
	"assay/internal/load"
)

const (
	// lagEvery is the interval at which the driver measures its own delay.
	lagEvery = 10 * time.Millisecond
	// timerSlack is how late the timers of an idle runtime are, because its poller waits in
	// whole milliseconds. It delays no reader.
	timerSlack = 2 * time.Millisecond
)

// probe measures the driver's own delay until ctx is done: the time from the writing of a
// time stamp to a pipe until a goroutine, which the runtime wakes like the readers of
// sockets, has read it. When the whole process was stopped, the stamp is written late, and
// that delay counts too.
func probe(ctx context.Context, sink load.Sink, now func() int64) {
	in, out, err := os.Pipe()
	if err != nil {
		return // no descriptor left: the delay is unknown
	}
	done := make(chan struct{})
	crash.Go(func() {
		defer close(done)
		var stamp [8]byte
		for {
			if _, err := in.Read(stamp[:]); err != nil {
				return
			}
			due := time.Duration(binary.LittleEndian.Uint64(stamp[:])) //nolint:gosec // written below
			sink.Record(0, 0, load.DriverLag, time.Duration(now())-due)
		}
	})
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	due := time.Duration(now())
	for open := true; open; {
		select {
		case <-ctx.Done():
			open = false
			continue
		case <-tick.C:
		}
		due += lagEvery
		at := time.Duration(now())
		from := at
		if late := at - due; late > timerSlack {
			from, due = due+timerSlack, at
		}
		var stamp [8]byte
		binary.LittleEndian.PutUint64(stamp[:], uint64(from)) //nolint:gosec // not negative
		if _, err := out.Write(stamp[:]); err != nil {
			open = false
		}
	}
	_ = out.Close()
	<-done
	_ = in.Close()
}
