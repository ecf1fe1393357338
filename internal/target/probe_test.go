package target_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

func newTarget(t *testing.T, o target.Options) *target.Target {
	t.Helper()
	tg, err := target.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

func probe(t *testing.T, o target.Options, want ...string) map[string]bundle.Feature {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f, err := newTarget(t, o).Probe(ctx, transport.NewClock(), bundle.Calibration{}, want...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func in(f map[string]bundle.Feature, state bundle.FeatureState) []string {
	var ids []string
	for id, feature := range f {
		if feature.State == state {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestProbeFindsEveryFeatureOfAFullGateway(t *testing.T) {
	g := &gateway{keepalive: true}
	f := probe(t, target.Options{URL: serveBoth(t, mandatory(g.full())), Token: goodToken, Control: target.Control{APIKey: goodKey}})
	for _, id := range target.Features() {
		want := bundle.FeaturePresent
		if id == "http.h2-tls" { // needs https
			want = bundle.FeatureAbsent
		}
		if f[id].State != want || f[id].Detail == "" {
			t.Errorf("%s = %+v, want it %s with a detail", id, f[id], want)
		}
	}
	if started, running := g.idle(); started < 5 || running != 0 {
		t.Errorf("%d processes were started, %d still run", started, running)
	}
}

// others are the features that a plain gateway of the tests lacks: it has only
// HTTP/1.1, Connect and gRPC-Web, no token, and no surfaces but the process service,
// the alias, metrics and health.
const others = "auth.token control-plane control-plane.key execute files files.signed filesystem filesystem.watch http.h2-tls http.h2c metrics.process protocol.grpc rpc.get rpc.probe " +
	"stdio.eof stdio.panes stdio.pty stdio.session stdio.shared stdio.ws"

func TestProbeFindsWhatIsMissing(t *testing.T) {
	t.Parallel() // waits for a keepalive
	f := probe(t, target.Options{URL: (&gateway{noPTY: true, ghosts: true, noTags: true}).serve(t), TimeScale: 2})
	want := append(strings.Fields(others), "process.keepalive", "process.pty", "process.tag")
	slices.Sort(want)
	if got := in(f, bundle.FeatureAbsent); !slices.Equal(got, want) {
		t.Errorf("absent: %q, want %q", got, want)
	}
	if got, want := in(f, bundle.FeatureUnknown), []string{"process.user"}; !slices.Equal(got, want) {
		t.Errorf("unknown: %q, want %q", got, want)
	}
}

func TestProbeWithoutListStillFindsTheRest(t *testing.T) {
	f := probe(t, target.Options{URL: (&gateway{noList: true, keepalive: true}).serve(t)})
	want := append(strings.Fields(others), "process.list")
	slices.Sort(want)
	if got := in(f, bundle.FeatureAbsent); !slices.Equal(got, want) {
		t.Errorf("absent: %q, want %q", got, want)
	}
	for _, id := range []string{"process.start", "codec.proto", "process.tag", "process.input"} {
		if f[id].State != bundle.FeaturePresent {
			t.Errorf("%s = %+v", id, f[id])
		}
	}
}

func TestProbeOfAServerWithoutAnything(t *testing.T) {
	f := probe(t, target.Options{URL: serveHTTP(t, http.NotFoundHandler())})
	for _, id := range []string{"process.start", "process.list", "codec.json", "codec.proto", "protocol.connect", "protocol.grpc",
		"protocol.grpc-web", "http.h2c", "ndjson.commands", "metrics.prometheus", "health", "filesystem", "filesystem.watch", "files", "execute", "rpc.probe", "rpc.get", "stdio.ws"} {
		if f[id].State != bundle.FeatureAbsent {
			t.Errorf("%s = %+v, want absent", id, f[id])
		}
	}
	if f["http.1"].State != bundle.FeaturePresent {
		t.Errorf("http.1 = %+v", f["http.1"])
	}
	if f["process.signal"].State != bundle.FeatureUnknown {
		t.Errorf("process.signal = %+v, want unknown without a try", f["process.signal"])
	}
}

func TestProbeTellsRefusedFromIgnoredFromDenied(t *testing.T) {
	for name, c := range map[string]struct {
		gateway *gateway
		want    bundle.FeatureState
	}{
		"has terminals":                     {&gateway{}, bundle.FeaturePresent},
		"has terminals and calls it stdout": {&gateway{plainPTY: true, terminal: true}, bundle.FeaturePresent},
		"ignores the field":                 {&gateway{plainPTY: true}, bundle.FeatureAbsent},
		"refuses the field":                 {&gateway{noPTY: true}, bundle.FeatureAbsent},
		"denies the call":                   {&gateway{deniedPTY: true}, bundle.FeatureUnknown},
	} {
		if f := probe(t, target.Options{URL: c.gateway.serve(t)}, "process.pty"); f["process.pty"].State != c.want {
			t.Errorf("a target that %s: process.pty = %+v, want %s", name, f["process.pty"], c.want)
		}
	}
}

func TestEmbeddedGatewayIsTrustedWithWhatIsSlowToProbe(t *testing.T) {
	t.Parallel() // waits for a keepalive
	g := &gateway{}
	f := probe(t, target.Options{URL: g.serve(t), Embedded: true})
	if f["process.keepalive"].State != bundle.FeaturePresent {
		t.Errorf("process.keepalive = %+v", f["process.keepalive"])
	}
	f = probe(t, target.Options{URL: g.serve(t), Embedded: true}, "process.keepalive")
	if f["process.keepalive"].State != bundle.FeatureAbsent {
		t.Errorf("requested by name: %+v", f["process.keepalive"])
	}
}

func TestMetricsThatAreNoExpositionAreAbsent(t *testing.T) {
	f := probe(t, target.Options{URL: serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ts":1}`)
	}))}, "metrics.prometheus")
	if f["metrics.prometheus"].State != bundle.FeatureAbsent || len(f) != 1 {
		t.Errorf("features = %+v", f)
	}
}

func TestProbeOfAWantedSlowFeature(t *testing.T) {
	g := &gateway{keepalive: true}
	url := g.serve(t)
	if f := probe(t, target.Options{URL: url}, "process.keepalive"); f["process.keepalive"].State != bundle.FeaturePresent || len(f) != 1 {
		t.Errorf("features = %+v", f)
	}
	if started, running := g.idle(); started != 1 || running != 0 {
		t.Errorf("%d processes were started, %d still run", started, running)
	}
}

func TestProbeOfAnUnknownFeatureIsAnError(t *testing.T) {
	tg := newTarget(t, target.Options{URL: "http://127.0.0.1:1"})
	_, err := tg.Probe(context.Background(), transport.NewClock(), bundle.Calibration{}, "process.fly")
	if err == nil || !strings.Contains(err.Error(), "process.fly") {
		t.Errorf("err = %v", err)
	}
}

// probe gives up a Probe that does not end by itself.
func TestProbeOfASilentServerEnds(t *testing.T) {
	f := probe(t, target.Options{URL: rawServer(t, nil), TimeScale: 0.05})
	if got := in(f, bundle.FeatureUnknown); len(got) != len(target.Features())-1 || f["http.h2-tls"].State != bundle.FeatureAbsent {
		t.Errorf("unknown: %q, want all but http.h2-tls", got)
	}
}

func TestFeaturesAreTheKnownIdsSorted(t *testing.T) {
	want := strings.Fields(`auth.token codec.json codec.proto compress.gzip control-plane control-plane.key execute files files.signed filesystem
		filesystem.watch health http.1 http.h2-tls http.h2c
		metrics.process metrics.prometheus ndjson.commands process.close-stdin process.connect process.input process.keepalive
		process.list process.pty process.signal process.start process.stream-input process.tag process.update process.user
		protocol.connect protocol.grpc protocol.grpc-web rpc.get rpc.probe
		stdio.eof stdio.panes stdio.pty stdio.session stdio.shared stdio.ws`)
	if got := target.Features(); !slices.Equal(got, want) {
		t.Errorf("features = %q", got)
	}
}

func TestCodecThatIsRefusedInTheWordsOfAnRPCIsAbsent(t *testing.T) {
	inner := (&gateway{}).handler()
	for name, answer := range map[string]struct {
		status int
		body   string
	}{"415 with an error": {http.StatusUnsupportedMediaType, `{"code":"internal"}`}, "415 without": {http.StatusUnsupportedMediaType, "no"}} {
		url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.Header.Get("Content-Type"), "json") {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(answer.status)
				io.WriteString(w, answer.body)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		f := probe(t, target.Options{URL: url}, "codec.proto", "codec.json")
		if f["codec.proto"].State != bundle.FeatureAbsent || f["codec.json"].State != bundle.FeaturePresent {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A target that refused calls is called more slowly. What waits for its turn does not tell that the target is silent.
func TestProbeThatWaitedForItsTurnLooksAgain(t *testing.T) {
	t.Parallel()
	const scale = 0.2 * testkit.Slowdown // a probe has a second
	tg := newTarget(t, target.Options{URL: (&gateway{}).serve(t), TimeScale: scale})
	clock := transport.NewClock()
	cal, err := tg.Calibrate(t.Context(), clock)
	if err != nil {
		t.Fatal(err)
	}
	tg.Pace().Refused(0, 1500*testkit.Slowdown*time.Millisecond)
	want := []string{"codec.json", "http.1", "protocol.connect"}
	got, err := tg.Probe(t.Context(), clock, cal, want...)
	if err != nil {
		t.Fatal(err)
	}
	if found := in(got, bundle.FeaturePresent); !slices.Equal(found, want) {
		t.Errorf("found %v, want %v: %v", found, want, got)
	}
}
