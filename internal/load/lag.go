package load

import (
	"encoding/binary"
	"os"
	"time"
)

const (
	// lagEvery is how often the driver measures its own delay.
	lagEvery = 10 * time.Millisecond
	// timerSlack is what timers of an idle runtime are late by: its poller waits in
	// whole milliseconds. It delays no reader.
	timerSlack = 2 * time.Millisecond
)

// probe measures the driver's own delay: how long after a byte could be read from a
// pipe a goroutine that waits for it has read it, on the way that all readers of
// sockets are woken. When the whole process was stopped, the byte is written late
// itself, and that counts too.
func (r *portableRun) probe() {
	in, out, err := os.Pipe()
	if err != nil {
		return // no descriptor left: the delay is not known
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var stamp [8]byte
		for {
			if _, err := in.Read(stamp[:]); err != nil {
				return
			}
			due := time.Duration(binary.LittleEndian.Uint64(stamp[:])) //nolint:gosec // as it was written
			r.sink.Record(0, 0, DriverLag, r.now()-due)
		}
	}()
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	due := r.now()
	for open := true; open; {
		select {
		case <-r.unwatch:
			open = false
			continue
		case <-tick.C:
		}
		due += lagEvery
		now := r.now()
		from := now
		if late := now - due; late > timerSlack {
			from, due = due+timerSlack, now
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
