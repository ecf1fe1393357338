//go:build unix

package portable_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
)

// BenchmarkShortStreams measures a whole stream of five lines, over kept connections. The
// server is in the same process and does as little as possible; its cost is included.
func BenchmarkShortStreams(b *testing.B) {
	whole := []byte(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n"), loadtest.Stdout("2\n"), loadtest.Stdout("3\n"),
		loadtest.Stdout("4\n"), loadtest.Stdout("5\n"), loadtest.EndEvent(0), loadtest.EOS))
	addr := loadtest.Listen(b, func(c net.Conn) {
		buf := make([]byte, 4<<10)
		for {
			if _, err := c.Read(buf); err != nil { // each request comes in one piece
				return
			}
			if _, err := c.Write(whole); err != nil {
				return
			}
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	c := &counting{}
	if err := (portable.Engine{}).Run(b.Context(), loadtest.Plan(b, addr, func(p *load.Plan) {
		p.Streams, p.Count, p.Classes[0].Check.Lines = 64, b.N, 5
	}), c); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
	if c.ok != b.N {
		b.Fatalf("%d of %d streams ended well", c.ok, b.N)
	}
}

// cpu returns the processor time of this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// counting is a sink that counts the streams that ended well.
type counting struct{ ok int }

func (*counting) Record(int, int, load.Metric, time.Duration) {}
func (*counting) Opening()                                    {}
func (*counting) Started()                                    {}
func (*counting) Output(int, int, int)                        {}
func (*counting) HungUp()                                     {}
func (*counting) Killing()                                    {}
func (*counting) Coalesced(int)                               {}
func (*counting) Unstamped(int)                               {}
func (*counting) ClockStepped(time.Duration)                  {}
func (*counting) BackedOff()                                  {}
func (*counting) Swept(int)                                   {}
func (c *counting) Ended(r load.Result) {
	if r.Outcome == bundle.StreamOK {
		c.ok++
	}
}
