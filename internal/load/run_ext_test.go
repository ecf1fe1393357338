package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/load"
	"assay/internal/load/portable"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

func served(t *testing.T, o zoo.Options) string {
	t.Helper()
	g, err := zoo.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g.URL()
}

func run(t *testing.T, ctx context.Context, o load.Options) *bundle.LoadReport {
	t.Helper()
	o.Engine = portable.Engine{}
	r, err := load.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func at(url string) target.Options { return target.Options{URL: url} }

func TestARunAgainstTheReferenceGateway(t *testing.T) {
	t.Parallel()
	url := served(t, zoo.Options{})
	for name, o := range map[string]load.Options{
		"closed, until the end":      {Schedule: load.Schedule{Streams: 20, Duration: 1200 * time.Millisecond}},
		"closed, rising":             {Schedule: load.Schedule{Streams: 20, Ramp: 300 * time.Millisecond, Duration: 600 * time.Millisecond}},
		"closed, a count":            {Schedule: load.Schedule{Streams: 10, Count: 60}},
		"open, a command of its own": {Schedule: load.Schedule{Rate: 100, Duration: 500 * time.Millisecond}, Command: "seq 1 50; echo x >&2"},
		"open, until the end":        {Schedule: load.Schedule{Rate: 50, Duration: 500 * time.Millisecond}},
		"ndjson":                     {Schedule: load.Schedule{Streams: 5, Count: 20}, Protocol: load.ProtocolNDJSON},
	} {
		t.Run(name, func(t *testing.T) {
			o.Target = at(url)
			r := run(t, t.Context(), o)
			if !passed(r) || r.Metrics.Scraped < 2 || len(r.Metrics.Violations) > 0 {
				t.Errorf("%s because of %q; metrics %+v; examples %v", r.Verdict, r.Reasons, r.Metrics, r.Examples)
			}
			if want := int64(o.Count); want > 0 && r.Streams.Outcomes[bundle.StreamOK] != want {
				t.Errorf("%v ended well, want %d", r.Streams.Outcomes, want)
			}
			if d := r.Metrics.After.Started - r.Metrics.Before.Started; int64(d) != r.Ledger.Started || r.Ledger.Open != 0 {
				t.Errorf("the gateway counted %v starts, the ledger is %+v", d, r.Ledger)
			}
			if r.Latency.FirstEvent.Count != r.Streams.Opened || r.Latency.StartLag.Count < r.Streams.Opened {
				t.Errorf("%d streams opened, latencies %+v", r.Streams.Opened, r.Latency)
			}
		})
	}
}

// The timeline and the curves of a killed run, which has written only its log, are those of
// the report.
func TestTheLogHoldsTheTimelineOfAKilledRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte("streams: 6\nduration: 2500ms\nclasses:\n- {name: held, share: 1}\n- {name: short, share: 1, lines: 5, think: 100ms}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, t.Context(), load.Options{Target: at(served(t, zoo.Options{})), Plan: plan, Out: dir})
	if n := len(r.Timeline); n < 2 || r.Timeline[0].FromMS != 0 {
		t.Fatalf("%d moments: %+v", n, r.Timeline)
	}
	var begun, ended, events int64
	for i, m := range r.Timeline {
		begun += m.Begun
		ended += m.Outcomes.Total()
		events += m.FirstEvent.Count
		if i > 0 && m.FromMS != r.Timeline[i-1].ToMS {
			t.Errorf("moment %d begins at %d, after %d", i, m.FromMS, r.Timeline[i-1].ToMS)
		}
	}
	if last := r.Timeline[len(r.Timeline)-1]; last.Open != 0 || ended != r.Streams.Completed || begun != ended || events != r.Latency.FirstEvent.Count {
		t.Errorf("%d begun, %d ended, %d first events, %d open at the end; the report says %+v", begun, ended, events, last.Open, r.Streams)
	}
	names := map[string]bool{}
	for _, c := range r.Curves {
		names[c.Metric] = true
	}
	for _, want := range []string{"first_event", "first_event/held", "first_event/short", "gap", "end_of_stream", "start_lag"} {
		if !names[want] {
			t.Errorf("there is no curve of %s: %v", want, names)
		}
	}
	whole := *r
	r.Timeline, r.Curves = nil, nil
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "load.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	stored, err := load.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.Timeline, stored.Report.Timeline); diff != "" {
		t.Errorf("the timeline differs:\n%s", diff)
	}
	if diff := cmp.Diff(whole.Curves, stored.Report.Curves); diff != "" {
		t.Errorf("the curves differ:\n%s", diff)
	}
}

// passed reports whether the verdict is pass, or the only reason against it is that this
// machine delayed the driver for longer than the open model allows.
func passed(r *bundle.LoadReport) bool {
	if r.Verdict == bundle.LoadInconclusive && len(r.Reasons) == 1 && r.Latency.StartLag.P99 > time.Second.Microseconds() {
		return strings.HasPrefix(r.Reasons[0], "the driver could not keep its schedule")
	}
	return r.Verdict == bundle.LoadPass
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"eos-dropped": "eos_missing", "kill-counted-twice": "killed moved by",
	} {
		t.Run(fault, func(t *testing.T) {
			url := served(t, zoo.Options{Faults: []string{fault}})
			r := run(t, t.Context(), load.Options{Target: at(url), Schedule: load.Schedule{Streams: 5, Duration: 300 * time.Millisecond}})
			if text := fmt.Sprint(r.Examples, r.Metrics.Violations); r.Verdict != bundle.LoadFail || !strings.Contains(text, want) {
				t.Errorf("%s, want fail with %q: %s", r.Verdict, want, text)
			}
		})
	}
}

// proxied puts a handler in front of a gateway and returns its URL.
func proxied(t *testing.T, gateway string, with func(next http.Handler) http.HandlerFunc) string {
	t.Helper()
	u, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.FlushInterval = -1
	s := httptest.NewServer(with(p))
	t.Cleanup(s.Close)
	return s.URL
}

func TestALineLostOnTheWayIsFound(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	lossy := proxied(t, served(t, zoo.Options{}), func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(&dropper{ResponseWriter: w, n: &n}, r) }
	})
	r := run(t, t.Context(), load.Options{Target: at(lossy), Schedule: load.Schedule{Streams: 5, Count: 100}, Protocol: load.ProtocolNDJSON})
	if got := r.Streams.Outcomes[bundle.StreamCorrupt]; got < 1 || got > 3 || r.Verdict != bundle.LoadFail {
		t.Errorf("%d streams are corrupt of 2,000 lines of which 2 were dropped; %v", got, r.Examples)
	}
}

// dropper drops every thousandth line of output.
type dropper struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (d *dropper) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *dropper) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if bytes.Contains(line, []byte(`"stdout"`)) && d.n.Add(1)%1000 == 500 {
			continue
		}
		if _, err := d.ResponseWriter.Write(line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func TestAbsentCountersAreSaidAndNotFailed(t *testing.T) {
	t.Parallel()
	bare := proxied(t, served(t, zoo.Options{}), func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		}
	})
	r := run(t, t.Context(), load.Options{Target: at(bare), Schedule: load.Schedule{Streams: 2, Count: 4}})
	if r.Verdict != bundle.LoadPass || r.Metrics.Scraped != 0 || !strings.Contains(r.Metrics.Note, "404") {
		t.Errorf("%s, %+v", r.Verdict, r.Metrics)
	}
}

func TestForeignTrafficIsInconclusive(t *testing.T) {
	t.Parallel()
	url := served(t, zoo.Options{})
	var once atomic.Bool
	busy := proxied(t, url, func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/Start") && once.CompareAndSwap(false, true) {
				resp, err := http.Post(url+"/commands", "application/json", strings.NewReader(`{"cmd":"true"}`)) //nolint:gosec // the test's own server
				if err == nil {
					_ = resp.Body.Close()
				}
			}
			next.ServeHTTP(w, r)
		}
	})
	r := run(t, t.Context(), load.Options{Target: at(busy), Schedule: load.Schedule{Streams: 2, Count: 4}})
	if r.Verdict != bundle.LoadInconclusive || !strings.Contains(r.Metrics.Note, "foreign") {
		t.Errorf("%s because of %q; %+v", r.Verdict, r.Reasons, r.Metrics)
	}
}

func TestAnInterruptedRunIsReported(t *testing.T) {
	t.Parallel()
	url := served(t, zoo.Options{})
	ctx, stop := context.WithCancel(t.Context())
	begun := time.Now()
	begin := begins(func() { time.AfterFunc(300*time.Millisecond, stop) })
	r := run(t, ctx, load.Options{Target: at(url), Schedule: load.Schedule{Streams: 30, Duration: time.Hour}, Progress: begin})
	if !r.Interrupted || r.Exit() != 130 || r.Ledger.Open != 0 || time.Since(begun) > 30*time.Second {
		t.Errorf("after %v: interrupted %v, exit %d, ledger %+v", time.Since(begun), r.Interrupted, r.Exit(), r.Ledger)
	}
	if r.Metrics.After == nil || r.Metrics.After.Active != 0 || len(r.Metrics.Violations) > 0 {
		t.Errorf("the gateway says %+v", r.Metrics)
	}
	canceled, stop := context.WithCancel(t.Context())
	stop()
	if r := run(t, canceled, load.Options{Target: at(url), Schedule: load.Schedule{Streams: 3}}); !r.Interrupted || r.Streams.Completed != 0 {
		t.Errorf("interrupted before it began: %+v", r)
	}
}

func TestWhatIsNoGatewayIsAPrecondition(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>hello</html>"))
	}))
	t.Cleanup(page.Close)
	for name, tt := range map[string]struct {
		o    load.Options
		want string
	}{
		"a page":          {load.Options{Target: at(page.URL), Schedule: load.Schedule{Duration: time.Minute}}, "text/html"},
		"a missing path":  {load.Options{Target: at(page.URL + "/x"), Protocol: load.ProtocolNDJSON, Schedule: load.Schedule{Duration: time.Minute}}, "text/html"},
		"a missing token": {load.Options{Target: at(served(t, zoo.Options{Options: gateway.Options{Token: "secret"}})), Schedule: load.Schedule{Duration: time.Minute}}, "unauthenticated"},
		"no listener":     {load.Options{Target: at("http://127.0.0.1:1")}, "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			tt.o.Engine = portable.Engine{}
			r, err := load.Run(t.Context(), tt.o)
			var unreachable *target.UnreachableError
			if !errors.As(err, &unreachable) || r != nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, %v; want an UnreachableError with %q", r, err, tt.want)
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %v to find out", took)
			}
		})
	}
}

func TestATokenAndAUserAreSent(t *testing.T) {
	url := served(t, zoo.Options{Options: gateway.Options{Token: "secret"}})
	r := run(t, t.Context(), load.Options{Target: target.Options{URL: url, Token: "secret"}, Schedule: load.Schedule{Streams: 2, Count: 4}})
	if r.Verdict != bundle.LoadPass {
		t.Errorf("%s because of %q: %v", r.Verdict, r.Reasons, r.Examples)
	}
}

func TestTheFolderOfARun(t *testing.T) {
	t.Parallel()
	url, dir := served(t, zoo.Options{}), filepath.Join(t.TempDir(), "run")
	during := filepath.Join(dir, "metrics", "0*.txt")
	ctx, stop := context.WithCancel(t.Context())
	gaps := false
	seen := ticked(func(now load.Tick) {
		gaps = gaps || now.Gap.Count > 0
		if all, _ := filepath.Glob(during); gaps && len(all) > 0 {
			stop()
		}
	})
	r := run(t, ctx, load.Options{
		Target: at(url), Schedule: load.Schedule{Streams: 3, Duration: time.Minute}, Out: dir, Progress: seen,
		Command: "while :; do echo x; sleep 0.1; done", Expect: "none",
	})
	stop()
	text, err := os.ReadFile(filepath.Join(dir, "load.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept bundle.LoadReport
	if err := json.Unmarshal(text, &kept); err != nil || kept.Streams != r.Streams || kept.Latency != r.Latency {
		t.Errorf("load.json: %v, %+v; want %+v", err, kept, r)
	}
	names := []string{filepath.Join(dir, "latency.hlog"), filepath.Join(dir, "metrics", "before.txt"), filepath.Join(dir, "metrics", "after.txt")}
	scrapes, err := filepath.Glob(during)
	if err != nil || len(scrapes) == 0 {
		t.Errorf("no scrape during the run: %v", err)
	}
	for _, name := range append(names, scrapes...) {
		if text, err := os.ReadFile(name); err != nil || len(text) == 0 {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "latency.hlog")); !bytes.Contains(text, []byte("Tag=first_event,")) || !bytes.Contains(text, []byte("Tag=gap,")) {
		t.Errorf("latency.hlog:\n%s", text)
	}
}

func TestOptionsAreCheckedWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		o    load.Options
		want string
	}{
		"two models":                  {load.Options{Schedule: load.Schedule{Streams: 1, Rate: 1}}, "choose one"},
		"grpc over 1.1":               {load.Options{Protocol: "grpc", HTTP: "1.1"}, "h2c"},
		"ndjson in proto":             {load.Options{Protocol: "ndjson", Codec: "proto"}, "ndjson"},
		"an unknown protocol":         {load.Options{Protocol: "soap"}, "connect, grpc"},
		"an unknown codec":            {load.Options{Codec: "xml"}, "json, proto"},
		"an unknown version":          {load.Options{HTTP: "3"}, "1.1, h2c"},
		"h2c on https":                {load.Options{HTTP: "h2c", Target: at("https://x")}, "h2-tls"},
		"full handshakes on http":     {load.Options{FullHandshakes: true, Target: at("http://x")}, "https URL"},
		"negative streams":            {load.Options{Schedule: load.Schedule{Streams: -1}}, "streams -1"},
		"a negative rate":             {load.Options{Schedule: load.Schedule{Rate: -1}}, "rate -1"},
		"a negative count":            {load.Options{Schedule: load.Schedule{Count: -1}}, "count -1"},
		"a negative ramp":             {load.Options{Schedule: load.Schedule{Ramp: -1}}, "ramp"},
		"a ramp beyond the end":       {load.Options{Schedule: load.Schedule{Ramp: time.Minute, Duration: time.Second}}, "longer"},
		"expect without a command":    {load.Options{Expect: "same"}, "command of your own"},
		"an invalid expectation":      {load.Options{Command: "x", Expect: "fine"}, "sha256:"},
		"an invalid threshold":        {load.Options{Thresholds: []string{"x"}}, "threshold"},
		"an abort without thresholds": {load.Options{AbortOnFail: true}, "thresholds"},
		"an abort delay alone":        {load.Options{AbortDelay: 1}, "abort-on-fail"},
		"poisson without a rate":      {load.Options{Schedule: load.Schedule{Poisson: true}}, "give a rate"},
		"a share above 1":             {load.Options{KillShare: 1.1}, "kill share"},
		"a negative share":            {load.Options{DisconnectShare: -0.1}, "disconnect share"},
		"shares above 1 in all":       {load.Options{KillShare: 0.6, DisconnectShare: 0.6}, "more than 1 together"},
		"a warm-up without a rest":    {load.Options{Schedule: load.Schedule{Duration: time.Second, Warmup: time.Second}}, "leaves nothing"},
		"a missing plan":              {load.Options{Plan: "no/such.yaml"}, "no/such.yaml"},
		"a NUL in the command":        {load.Options{Command: "a\x00b"}, "NUL"},
	} {
		if err := tt.o.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
	}
	good := load.Options{Schedule: load.Schedule{Streams: 5}, Thresholds: []string{`first_event.p99 < duration("1s")`}, Command: "x", Expect: "none", Protocol: "grpc"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// begins is called when the streams are about to be opened.
type begins func()

func (f begins) Begin(string, time.Duration, int) { f() }
func (begins) Tick(load.Tick)                     {}
func (begins) End()                               {}

// ticked is called with every tick.
type ticked func(load.Tick)

func (ticked) Begin(string, time.Duration, int) {}
func (f ticked) Tick(now load.Tick)             { f(now) }
func (ticked) End()                             {}

// ticks counts the calls of a Progress, and ends the run with the first tick.
type ticks struct {
	began, ticked, ended int
	stop                 func()
}

func (p *ticks) Begin(string, time.Duration, int) { p.began++ }
func (p *ticks) Tick(load.Tick)                   { p.ticked++; p.stop() }
func (p *ticks) End()                             { p.ended++ }

func TestProgressIsTold(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	p := ticks{stop: stop}
	run(t, ctx, load.Options{Target: at(served(t, zoo.Options{})), Schedule: load.Schedule{Streams: 2, Duration: time.Minute}, Progress: &p})
	if p.began != 1 || p.ended != 1 || p.ticked < 2 {
		t.Errorf("%+v", p)
	}
}
