//go:build linux && (amd64 || arm64)

package fast_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// ways returns all valid combinations of protocol, codec and version.
func ways() (out [][3]string) {
	for _, protocol := range []string{load.ProtocolConnect, load.ProtocolGRPC, load.ProtocolWeb, load.ProtocolNDJSON} {
		for _, codec := range []string{load.CodecJSON, load.CodecProto} {
			for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS} {
				if protocol == load.ProtocolGRPC && (version == load.HTTP11 || version == overTLS) || protocol == load.ProtocolNDJSON && codec == load.CodecProto {
					continue
				}
				out = append(out, [3]string{protocol, codec, version})
			}
		}
	}
	return append(out, [3]string{load.ProtocolWS, "", load.HTTP11}, [3]string{load.ProtocolWS, "", overTLS})
}

// overTLS stands for HTTP/1.1 over TLS in tables.
const overTLS = "1.1 over TLS"

// reports runs the same options on both engines, each against its own gateway, with a time
// scale of 3.
func reports(t *testing.T, g zoo.Options, o load.Options) (slow, quick *bundle.LoadReport) {
	t.Helper()
	if g.TLS = o.HTTP == overTLS || o.HTTP == load.H2TLS; o.HTTP == overTLS {
		o.HTTP = load.HTTP11
	}
	engines := []load.Engine{portable.Engine{}, fast.Engine{}}
	out := make([]*bundle.LoadReport, len(engines))
	var running sync.WaitGroup
	for n, e := range engines {
		running.Go(func() {
			gateway, err := zoo.Start(t.Context(), g)
			if err != nil {
				t.Error(err)
				return
			}
			defer gateway.Close()
			o := o
			o.Engine, o.Target = e, target.Options{URL: gateway.URL(), CACert: gateway.CACert(), TimeScale: 3}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if o.Duration > 0 {
				o.Progress = &enough{stop: stop}
			}
			if out[n], err = load.Run(ctx, o); err != nil {
				t.Errorf("%s: %v", e.Name(), err)
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out[0], out[1]
}

// alike compares the counts of two reports.
func alike(t *testing.T, a, b *bundle.LoadReport) {
	t.Helper()
	sum := func(r *bundle.LoadReport) string {
		return fmt.Sprintf("%s; %+v; %+v; %d events, %d bytes; first %d, violations %d", r.Verdict, r.Streams.Outcomes, r.Ledger,
			r.Output.Events, r.Output.Bytes, r.Latency.FirstEvent.Count, len(r.Metrics.Violations))
	}
	if sum(a) != sum(b) {
		t.Errorf("the engines differ:\nportable %s\n         %v\nfast     %s\n         %v", sum(a), a.Examples, sum(b), b.Examples)
	}
}

// faulty returns faults of a protocol that fail streams: a lost line, and where the end is a message, a lost end.
func faulty(protocol string) []string {
	return append([]string{"line-dropped"}, map[string][]string{
		load.ProtocolConnect: {"eos-dropped"},
		load.ProtocolGRPC:    {"grpc-status-missing"},
		load.ProtocolWeb:     {"grpc-web-trailer-missing"},
	}[protocol]...)
}

// Faults are not combined with TLS: what they change is above it, and TestBothEnginesJudgeAnswersAlike has
// wrong responses over TLS.
func TestBothEnginesCountAlike(t *testing.T) {
	for _, way := range ways() {
		faults := []string{""}
		if way[2] == load.HTTP11 || way[2] == load.H2C {
			faults = append(faults, faulty(way[0])...)
		}
		for _, fault := range faults {
			t.Run(strings.Join(way[:], " ")+" "+fault, func(t *testing.T) {
				t.Parallel()
				var g zoo.Options
				o := load.Options{Protocol: way[0], Codec: way[1], HTTP: way[2], Schedule: load.Schedule{Streams: 4, Count: 12}, Profile: "full"}
				if fault != "" {
					// One line in 1,000 is dropped: here the ninetieth, which is the same one if streams follow each other.
					g.Faults, g.Seed, o.Streams = []string{fault}, 910, 1
				}
				a, b := reports(t, g, o)
				alike(t, a, b)
				if fault == "" && (b.Verdict != bundle.LoadPass || b.Streams.Outcomes[bundle.StreamOK] != 12) {
					t.Errorf("%s because of %v: %v", b.Verdict, b.Reasons, b.Examples)
				}
				if fault != "" && b.Streams.Outcomes.Failed() == 0 {
					t.Errorf("the fault has no effect: %v", b.Streams.Outcomes)
				}
			})
		}
	}
}

// Both engines kill held streams at the end, and measure similar gaps: ticks come every
// 100 ms. A machine that sometimes stands still makes gaps longer, a wrong unit changes
// them by powers of ten.
func TestBothEnginesMeasureAlike(t *testing.T) {
	for _, way := range [][3]string{
		{load.ProtocolConnect, load.CodecJSON, load.HTTP11}, {load.ProtocolGRPC, load.CodecProto, load.H2C},
		{load.ProtocolNDJSON, load.CodecJSON, load.HTTP11}, {load.ProtocolWeb, load.CodecProto, load.H2C},
		{load.ProtocolWS, "", load.HTTP11}, {load.ProtocolConnect, load.CodecJSON, overTLS}, {load.ProtocolGRPC, load.CodecProto, load.H2TLS},
	} {
		t.Run(strings.Join(way[:], " "), func(t *testing.T) {
			t.Parallel()
			a, b := reports(t, zoo.Options{}, load.Options{
				Protocol: way[0], Codec: way[1], HTTP: way[2], Schedule: load.Schedule{Streams: 4, Duration: time.Hour}, Profile: "full",
				Command: "i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done", Expect: "none",
			})
			if a.Streams.Outcomes != b.Streams.Outcomes || a.Ledger != b.Ledger || b.Streams.Outcomes[bundle.StreamKilled] != 4 {
				t.Errorf("portable %v %+v, fast %v %+v: %v", a.Streams.Outcomes, a.Ledger, b.Streams.Outcomes, b.Ledger, b.Examples)
			}
			for name, l := range map[string]bundle.Latency{"portable": a.Latency.Gap, "fast": b.Latency.Gap} {
				if l.Count < 12 || l.P50 < 50_000 || l.P50 > 10_000_000 {
					t.Errorf("%s: gaps %+v, want about 100 ms", name, l)
				}
			}
			if b.Latency.DriverLag.Count == 0 || b.Latency.FromSent.Count != 4 {
				t.Errorf("driver lag %+v, from sent %+v", b.Latency.DriverLag, b.Latency.FromSent)
			}
		})
	}
}

// served starts a gateway. way makes a plan reach it over an HTTP version.
func served(t *testing.T, version string) (addr string, way func(*load.Plan)) {
	t.Helper()
	secure := version == overTLS || version == load.H2TLS
	gateway, err := zoo.Start(t.Context(), zoo.Options{Options: gateway.Options{TLS: secure}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gateway.Close() })
	_, addr, _ = strings.Cut(gateway.URL(), "://")
	return addr, func(p *load.Plan) {
		switch version {
		case load.H2C, load.H2TLS:
			p.HTTP = version
		case load.ProtocolWS:
			loadtest.OverWS(p)
		}
		if !secure {
			return
		}
		p.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
		if p.Multiplexed() {
			p.TLS.NextProtos = []string{"h2"}
		}
		p.TLS.RootCAs.AppendCertsFromPEM(gateway.CACert())
	}
}

// The mix of classes has kills, hang-ups, think time and input.
func TestBothEnginesKillAndHangUpAlike(t *testing.T) {
	for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS, load.ProtocolWS} {
		for _, e := range []load.Engine{portable.Engine{}, fast.Engine{}} {
			t.Run(version+" "+e.Name(), func(t *testing.T) {
				t.Parallel()
				addr, way := served(t, version)
				plan := loadtest.Plan(t, addr, way, mixed)
				q := loadtest.Drive(t.Context(), t, e, plan)
				firsts := map[int]int{}
				for n := range int64(plan.Count) {
					firsts[plan.Stream(n).Class]++
				}
				if version != load.ProtocolWS && !maps.Equal(q.Firsts, firsts) { // a socket may be closed before its first message
					t.Errorf("start events by class: %v, want %v", q.Firsts, firsts)
				}
				kinds := map[string]int{}
				for _, r := range q.Results {
					kinds[fmt.Sprintf("%v %d %v %v", r.Outcome, r.Fate, r.Disconnected, r.Uncertain)]++
					if r.Outcome.Failed() || r.Outcome == bundle.StreamCancelled && !r.Disconnected || r.Message != "" || r.Disconnected && !r.KillSent && version != load.ProtocolWS {
						t.Errorf("%+v", r)
					}
				}
				ok := kinds[fmt.Sprintf("ok %d false false", load.EndedOK)]
				killed := kinds[fmt.Sprintf("killed %d false false", load.FateKilled)]
				gone := kinds[fmt.Sprintf("cancelled %d true false", load.FateKilled)] + kinds[fmt.Sprintf("cancelled %d true false", load.EndedHungUp)]
				if ok+killed+gone != plan.Count || ok < 27 || ok > 33 || killed < 3 || gone < 3 {
					t.Errorf("%v", kinds)
				}
			})
		}
	}
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS} {
		addr, way := served(t, version)
		ctx, stop := context.WithCancel(t.Context())
		q := loadtest.NewTally()
		q.OnStarted = func(started int) {
			if started == 30 {
				stop()
			}
		}
		loadtest.DriveTo(ctx, t, q, fast.Engine{Loops: 2}, loadtest.Plan(t, addr, way, func(p *load.Plan) {
			p.Count, p.Streams, p.Duration, p.Classes[0].Endless = 0, 30, time.Hour, true
			p.Limits = load.DefaultLimits(1)
			p.Classes[0].Check = load.Check{Kind: load.CheckSequence}
			p.Classes[0].Dialect.Command = "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"
		}))
		stop()
		killed := 0
		for _, r := range q.Results {
			if r.Outcome == bundle.StreamKilled && r.Fate == load.FateKilled {
				killed++
			}
		}
		if killed != 30 {
			t.Errorf("%s: %s %q", version, q.Facts(), q.Messages())
		}
	}
}
