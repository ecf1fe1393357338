// Package drive holds the shared parts of the clients that Assay is compared with:
// flags, scheduling of streams, and histograms. It is written as a careful user of a
// client library would write it: a goroutine per stream, time.Now around each event.
package drive

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Config is the configuration of a client.
type Config struct {
	// URL is the base URL of the gateway.
	URL string
	// H2 speaks HTTP/2: with prior knowledge, or over https if the gateway chooses it by ALPN.
	H2 bool
	// CA is the file with the certificate that an https gateway must have, in PEM; "" for
	// those of the system.
	CA string
	// Protocol is connect or grpc, Codec json or proto. Not every client supports all of them.
	Protocol, Codec string
	// Streams is the total, Open the number at a time; with Ramp all of them are open
	// and start evenly over that time.
	Streams, Open int
	Ramp          time.Duration
}

// Stream makes one call of Start, and calls on for each event.
type Stream func(ctx context.Context, on func()) error

// Latency is a distribution in microseconds.
type Latency struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	Max   int64 `json:"max"`
}

// Report is the output of a client.
type Report struct {
	Streams int64              `json:"streams"`
	Failed  int64              `json:"failed"`
	Failure string             `json:"failure,omitempty"`
	Latency map[string]Latency `json:"latency_us"`
}

// Main parses the flags, drives the streams that open returns, prints the report, and
// returns the exit code.
func Main(open func(Config) (Stream, error)) int {
	var c Config
	flag.StringVar(&c.URL, "url", "", "URL of the gateway")
	flag.BoolVar(&c.H2, "h2", false, "HTTP/2; without TLS, with prior knowledge")
	flag.StringVar(&c.CA, "cacert", "", "file with the certificate that an https gateway must have")
	flag.StringVar(&c.Protocol, "protocol", "connect", "connect or grpc")
	flag.StringVar(&c.Codec, "codec", "json", "json or proto")
	flag.IntVar(&c.Streams, "streams", 1000, "streams in all")
	flag.IntVar(&c.Open, "open", 64, "streams at a time")
	flag.DurationVar(&c.Ramp, "ramp", 0, "open all streams, evenly over this time")
	limit := flag.Duration("limit", 10*time.Minute, "end after this time")
	flag.Parse()
	stream, err := open(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := context.WithTimeout(context.Background(), *limit)
	defer stop()
	d := newDriver(c, stream)
	if c.Ramp > 0 {
		d.held(ctx)
	} else {
		d.short(ctx)
	}
	if err := d.report(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type driver struct {
	config Config
	stream Stream
	shards []*shard
	failed atomic.Int64
	why    atomic.Pointer[string]
}

// shard holds the histograms of some of the streams.
type shard struct {
	mu         sync.Mutex
	first, gap *hdrhistogram.Histogram
	end        *hdrhistogram.Histogram
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Hour.Microseconds(), 3)
}

func newDriver(c Config, s Stream) *driver {
	d := &driver{config: c, stream: s}
	for range 8 {
		d.shards = append(d.shards, &shard{first: newHistogram(), gap: newHistogram(), end: newHistogram()})
	}
	return d
}

func (s *shard) record(h *hdrhistogram.Histogram, v time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = h.RecordValue(max(1, v.Microseconds())) // an hour is in range
}

// one makes a call and measures it.
func (d *driver) one(ctx context.Context, n int) {
	s := d.shards[n%len(d.shards)]
	begin := time.Now()
	last := begin
	events := 0
	err := d.stream(ctx, func() {
		now := time.Now()
		switch events {
		case 0:
			s.record(s.first, now.Sub(begin))
		default:
			s.record(s.gap, now.Sub(last))
		}
		events, last = events+1, now
	})
	s.record(s.end, time.Since(begin))
	if err == nil && events == 0 {
		err = errors.New("the stream had no event")
	}
	if err != nil {
		d.failed.Add(1)
		text := err.Error()
		d.why.CompareAndSwap(nil, &text)
	}
}

// short keeps Open streams open until Streams of them have run.
func (d *driver) short(ctx context.Context) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range d.config.Open {
		all.Go(func() {
			for {
				n := int(next.Add(1))
				if n > d.config.Streams || ctx.Err() != nil {
					return
				}
				d.one(ctx, n)
			}
		})
	}
	all.Wait()
}

// held opens all streams, evenly over the ramp.
func (d *driver) held(ctx context.Context) {
	var all sync.WaitGroup
	begin := time.Now()
	for n := range d.config.Streams {
		due := begin.Add(d.config.Ramp * time.Duration(n) / time.Duration(d.config.Streams))
		time.Sleep(time.Until(due))
		all.Go(func() { d.one(ctx, n) })
	}
	all.Wait()
}

func (d *driver) report(w io.Writer) error {
	sum := &shard{first: newHistogram(), gap: newHistogram(), end: newHistogram()}
	for _, s := range d.shards {
		sum.first.Merge(s.first)
		sum.gap.Merge(s.gap)
		sum.end.Merge(s.end)
	}
	r := Report{Streams: int64(d.config.Streams), Failed: d.failed.Load(), Latency: map[string]Latency{
		"first_event": latency(sum.first), "gap": latency(sum.gap), "end_of_stream": latency(sum.end),
	}}
	if why := d.why.Load(); why != nil {
		r.Failure = *why
	}
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func latency(h *hdrhistogram.Histogram) Latency {
	at := func(percent float64) int64 {
		return h.ValueAtQuantile(percent) //nolint:forbidigo // the library expects percent
	}
	return Latency{Count: h.TotalCount(), P50: at(50), P99: at(99), P999: at(99.9), Max: h.Max()}
}
