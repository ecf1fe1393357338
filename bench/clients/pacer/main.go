// Command pacer starts at intended times as most tools do: it sleeps until the next
// one is due. It writes a few bytes to a sink for each and prints the lateness.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func main() {
	addr := flag.String("sink", "", "HOST:PORT that reads bytes and never responds")
	rate := flag.Float64("rate", 10_000, "starts per second")
	duration := flag.Duration("duration", 5*time.Second, "how long")
	flag.Parse()
	conn, err := net.DialTimeout("tcp", *addr, 5*time.Second) //nolint:noctx // it has a deadline
	if err == nil {
		err = pace(conn, *rate, *duration, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pace writes to the sink at intended times, then writes the lateness to w.
func pace(sink io.Writer, rate float64, duration time.Duration, w io.Writer) error {
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	request := make([]byte, 256)
	begin := time.Now()
	for n := range int(rate * duration.Seconds()) {
		due := begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		_ = h.RecordValue(max(1, time.Since(due).Microseconds())) // an hour is in range
		if _, err := sink.Write(request); err != nil {
			return fmt.Errorf("writing to the sink: %w", err)
		}
	}
	at := func(percent float64) int64 {
		return h.ValueAtQuantile(percent) //nolint:forbidigo // the library expects percent
	}
	lag := map[string]int64{"count": h.TotalCount(), "p50": at(50), "p99": at(99), "p999": at(99.9), "max": h.Max()}
	if err := json.NewEncoder(w).Encode(map[string]any{"latency_us": map[string]any{"start_lag": lag}}); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
