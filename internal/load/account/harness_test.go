package account

import (
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/target"
)

// fake is a driver that records its calls. The test moves its clock.
type fake struct {
	*Streams

	run       *Run
	time      int64
	opened    []int32
	cancelled []int32
	onOpen    func(i int32, s *Stream)
	written   []byte
}

var _ Driver = (*fake)(nil)

func (f *fake) Open(i int32, s *Stream) {
	f.opened = append(f.opened, i)
	if f.onOpen != nil {
		f.onOpen(i, s)
	}
}
func (f *fake) Cancel(i int32, _ *Stream) { f.cancelled = append(f.cancelled, i) }
func (f *fake) Wake()                     {}

func (f *fake) Write(_ int32, _ *Stream, p []byte, _ bool) {
	if len(f.written) > 64<<10 { // a benchmark
		f.written = f.written[:0]
	}
	f.written = append(f.written, p...)
}

func (f *fake) Waiting(*Stream, time.Duration) *Failure { return nil }

// conduct returns a fake driver for the streams of a plan.
func conduct(p *load.Plan, s load.Sink) *fake {
	if len(p.Classes) == 0 {
		p.Classes = []load.Class{{Share: 1}}
	}
	f := &fake{run: NewRun(p, s)}
	f.Streams = f.run.Add(f, func() int64 { return f.time })
	return f
}

// plan returns a plan for one stream.
func plan(tb testing.TB, protocol, codec string, check load.Check) *load.Plan {
	tb.Helper()
	tg, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		tb.Fatal(err)
	}
	return &load.Plan{
		HTTP: load.HTTP11, Schedule: load.Schedule{Streams: 1, Count: 1}, Limits: load.DefaultLimits(1),
		Classes: []load.Class{{Share: 1, Check: check, Dialect: load.Dialect{Protocol: protocol, Codec: codec, Target: tg, Command: "x", Run: "r"}}},
	}
}

// begin begins a stream and sends its request.
func (f *fake) begin() (int32, *Stream) {
	f.Begin(f.time)
	i := f.opened[len(f.opened)-1]
	s := f.At(i)
	f.Opening(s)
	f.Sent(s, 0)
	return i, s
}

// feed feeds a body in pieces of at most n bytes.
func (f *fake) feed(i int32, s *Stream, p []byte, n int) {
	for len(p) > 0 {
		m := min(n, len(p))
		f.Reading(f.time)
		f.Body(i, s, p[:m])
		f.EndRead(false)
		p = p[m:]
	}
}
