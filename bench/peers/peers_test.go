//go:build linux

package main

import (
	"context"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func TestProcFilesAreRead(t *testing.T) {
	if got, err := parseRSSAnon("VmRSS:\t  9000 kB\nRssAnon:\t    1234 kB\nRssFile:\t 1 kB\n"); err != nil || got != 1234<<10 {
		t.Errorf("RssAnon is %d, %v", got, err)
	}
	if _, err := parseRSSAnon("VmRSS: 1 kB\n"); err == nil {
		t.Error("a status without RssAnon is read")
	}
	if got, err := parseSchedstat("1500000 20 3\n"); err != nil || got != 1500*time.Microsecond {
		t.Errorf("schedstat is %v, %v", got, err)
	}
	for _, text := range []string{"", "x 1 2"} {
		if _, err := parseSchedstat(text); err == nil {
			t.Errorf("the schedstat %q is read", text)
		}
	}
}

func TestStolenTimeIsRead(t *testing.T) {
	before, err := parseTicks("cpu  100 0 50 800 10 0 30 10 7 0\ncpu0 1 2 3\n")
	if err != nil || before != (ticks{1000, 10}) {
		t.Errorf("%+v, %v", before, err)
	}
	if got := (ticks{1200, 15}).since(before); got != 0.025 {
		t.Errorf("a share of %v", got)
	}
	for _, text := range []string{"", "cpu 1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 4 5 6 7 x\n"} {
		if _, err := parseTicks(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestTheBooksOfTheGatewayAreRead(t *testing.T) {
	text := "# TYPE x counter\ncoppice_commands_started_total 7\ncoppice_commands_finished_total{status=\"ok\"} 4\ncoppice_commands_active 3\ncanned_events_total 40\n" +
		"canned_lateness_seconds{quantile=\"0.99\"} 1\ncanned_lateness_seconds{quantile=\"0.999\"} 0.0025\n"
	if got, err := parseBooks(text); err != nil || got != (books{7, 3, 40, 2500 * time.Microsecond}) {
		t.Errorf("books %+v, %v", got, err)
	}
	if _, err := parseBooks("coppice_commands_started_total 7\n"); err == nil {
		t.Error("an exposition without events is read")
	}
	if _, err := parseBooks(strings.Replace(text, " 40", " many", 1)); err == nil {
		t.Error("a counter that is no number is read")
	}
}

func TestReportsOfDriversAreRead(t *testing.T) {
	l, err := parseLatencies([]byte(`{"latency_us":{"gap":{"count":9,"p50":1,"p90":2,"p99":3,"p999":4,"max":5}}}`))
	if err != nil || l["gap"].P999 != 4 || l["gap"].Max != 5 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := parseLatencies([]byte("PASS")); err == nil {
		t.Error("text is read as a report")
	}
	good := result{Output: []byte(`{"streams":{"outcomes":{"killed":3,"ok":0}}}`)}
	if err := clean(good, 3); err != nil {
		t.Error(err)
	}
	if clean(good, 4) == nil || clean(result{Output: []byte("x")}, 0) == nil {
		t.Error("a run with failures is clean")
	}
}

func TestMedianWithSmallestAndLargest(t *testing.T) {
	for want, s := range map[string]sample{
		"–": nil, "2.00 (2.00–2.00)": {2}, "2.50 (1.00–9.00)": {9, 1, 2, 3}, "3.00 (1.00–5.00)": {5, 1, 3},
	} {
		if got := s.String(); got != want {
			t.Errorf("%v is drawn as %q, want %q", []float64(s), got, want)
		}
	}
}

func TestSlopeIsThatOfTheLineThroughThePoints(t *testing.T) {
	if got := slope([]float64{5000, 15000, 5000, 15000}, []float64{1e6, 3e6, 1.2e6, 3.2e6}); math.Abs(got-200) > 1e-9 {
		t.Errorf("got %g, want 200", got)
	}
	if got := slope([]float64{1, 1}, []float64{1, 2}); got != 0 {
		t.Errorf("points above each other have the slope %g", got)
	}
}

func TestTargetsAreMetOrMissedByHowMuch(t *testing.T) {
	for name, tt := range map[string]struct {
		target target
		want   string
	}{
		"a ratio that is met":      {target{What: "w", Got: 11, Against: 10, Most: 1.1, Peer: "wrk", Relative: true}, "| w | ≤ 1.10 × wrk | 1.10 | met |\n"},
		"a ratio that is missed":   {target{What: "w", Got: 15, Against: 10, Most: 1.2, Peer: "wrk", Relative: true}, "| w | ≤ 1.20 × wrk | 1.50 | missed by 25 % |\n"},
		"a peer that is missing":   {target{What: "w", Got: 15, Most: 1.2, Peer: "wrk", Relative: true, Missing: true}, "| w | ≤ 1.20 × wrk | – | unknown: wrk is missing |\n"},
		"a figure that is met":     {target{What: "w", Got: 200, Most: 256, Unit: "bytes"}, "| w | ≤ 256 bytes | 200 bytes | met |\n"},
		"a figure that is unknown": {target{What: "w", Most: 32, Unit: "MB", Missing: true}, "| w | ≤ 32 MB | 0 MB | unknown: a figure is missing |\n"},
	} {
		if got := tt.target.row(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestTheTableNamesWhatIsMissing(t *testing.T) {
	b := &bench{streams: 1000, log: io.Discard}
	p := &page{}
	got := map[string]*figures{
		fast:  {cpu: sample{20, 22, 24}, server: sample{5}, rate: sample{1000}},
		"wrk": {cpu: sample{10, 11, 12}, server: sample{5}, rate: sample{2000}},
	}
	all := b.drivers(http1)
	b.drawShort(p, http1, all, got, map[string]error{"fortio": io.ErrUnexpectedEOF})
	for _, a := range shortAims[http1] {
		p.aim(against("one write: CPU per stream", a, got))
	}
	p.targets()
	for _, want := range []string{
		"| assay fast | 22.00 (20.00–24.00) | 2.00 | 5.00 | 1000 |\n", "| h2load | **missing** | | | |\n", "| fortio | failed: unexpected EOF | | | |\n",
		"one write: CPU per stream | ≤ 1.10 × wrk | 2.00 | missed by 82 % |\n", "| ≤ 0.16 × k6 | – | unknown: k6 is missing |\n",
	} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, p.String())
		}
	}
}

func TestAMissingPeerIsToldAndFailsWhereCIIsSet(t *testing.T) {
	var log strings.Builder
	b := &bench{log: &log}
	for ci, fails := range map[string]bool{"": false, "true": true} {
		t.Setenv("CI", ci)
		if err := b.without(map[string]string{"wrk": "it needs root"}); (err != nil) != fails {
			t.Errorf("CI=%q: %v", ci, err)
		}
	}
	if !strings.Contains(log.String(), "MISSING wrk: it needs root\n") {
		t.Errorf("the log says %q", log.String())
	}
	if err := b.without(nil); err != nil {
		t.Error(err)
	}
}

// A run is measured by the CPU time and output of its process; the error of a failed one has
// the output.
func TestAProcessIsMeasured(t *testing.T) {
	ctx := context.Background()
	c, err := start(ctx, t.TempDir(), []string{"/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.wait()
	if err != nil || string(r.Output) != "done\n" || r.CPU <= 0 || r.CPU > r.Wall*2 {
		t.Errorf("%+v, %v", r, err)
	}
	c, err = start(ctx, t.TempDir(), []string{"/bin/sh", "-c", "echo broken >&2; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.wait(); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the error of a failure is %v", err)
	}
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("the rest needs Linux")
	}
	if cpu, bytes, err := look(os.Getpid()); err != nil || cpu <= 0 || bytes <= 0 {
		t.Errorf("this process used %v and holds %d bytes, %v", cpu, bytes, err)
	}
}

func TestEveryDriverHasACommandLine(t *testing.T) {
	b := &bench{assay: "assay", tools: "tools", dir: "dir", base: "older", log: io.Discard}
	g := &gateway{url: "http://127.0.0.1:1", ca: "ca.pem"}
	for _, on := range []string{http1, h2c, https1, https2, ws} {
		for _, d := range b.drivers(on) {
			line := strings.Join(d.argv(b, g, 1000), " ")
			if !strings.Contains(line, "127.0.0.1:1") {
				t.Errorf("%s over %s does not know the gateway: %s", d.Name, on, line)
			}
			program, base := strings.CutPrefix(line, "older ")
			if secure := on == https1 || on == https2; secure && strings.Contains(d.Name, "assay") != strings.Contains(line, "--cacert ca.pem") {
				t.Errorf("%s over %s has no certificate: %s", d.Name, on, line)
			}
			if strings.HasPrefix(d.Name, fast) && !strings.HasSuffix(line, "--engine fast") || base != strings.HasSuffix(d.Name, "(base)") || base && !strings.HasPrefix(program, "load ") {
				t.Errorf("%s: %s", d.Name, line)
			}
		}
	}
}
