//go:build unix

package portable_test

import (
	"net"
	"testing"

	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// BenchmarkShortStreams measures a whole stream of five lines over kept connections, with every driver, in clear and over
// TLS. The server is in the same process and does as little as possible; its cost is included, with its half of the
// cryptography.
func BenchmarkShortStreams(b *testing.B) {
	whole := []byte(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n"), loadtest.Stdout("2\n"), loadtest.Stdout("3\n"),
		loadtest.Stdout("4\n"), loadtest.Stdout("5\n"), loadtest.EndEvent(0), loadtest.EOS))
	for _, e := range engines() {
		for _, w := range loadtest.Ways() {
			b.Run(e.Name()+", "+w.Name, func(b *testing.B) {
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
				}, w)
				plan := loadtest.Plan(b, addr, w.Plan, func(p *load.Plan) { p.Streams, p.Count, p.Classes[0].Check.Lines = 64, b.N, 5 })
				b.ReportAllocs()
				b.ResetTimer()
				before := machine.CPUSeconds()
				sink := &loadtest.Last{}
				if err := e.Run(b.Context(), plan, sink); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric((machine.CPUSeconds()-before)*1e9/float64(b.N), "cpu-ns/op")
				if sink.Count != b.N || sink.Result.Outcome.Failed() {
					b.Fatalf("%d of %d streams ended; %+v", sink.Count, b.N, sink.Result)
				}
			})
		}
	}
}
