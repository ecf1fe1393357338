package portable_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
	"assay/internal/record/bundle"
)

// served starts the reference gateway, and makes a plan reach it.
func served(t *testing.T, secure bool) (g *gateway.Gateway, plan *load.Plan) {
	t.Helper()
	g, err := gateway.Start(t.Context(), gateway.Options{TLS: secure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	_, addr, _ := strings.Cut(g.URL(), "://")
	plan = loadtest.Plan(t, addr, func(p *load.Plan) { p.Limits = load.DefaultLimits(3) })
	if secure {
		plan.TLS = &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
		plan.TLS.RootCAs.AppendCertsFromPEM(g.CACert())
	}
	return g, plan
}

// listed returns the marks of the processes that run on a gateway without TLS.
func listed(t *testing.T, url string) (marks []string) {
	t.Helper()
	r, err := processconnect.NewProcessClient(http.DefaultClient, url).List(t.Context(), connect.NewRequest(&process.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Msg.GetProcesses() {
		marks = append(marks, p.GetConfig().GetEnvs()["ASSAY_RUN"])
	}
	return marks
}

// behind makes a plan reach its gateway through a proxy.
func behind(t *testing.T, g *gateway.Gateway, plan *load.Plan, proxy func(next http.Handler) http.HandlerFunc) {
	t.Helper()
	u, err := url.Parse(g.URL())
	if err != nil {
		t.Fatal(err)
	}
	next := httputil.NewSingleHostReverseProxy(u)
	next.FlushInterval = -1
	s := httptest.NewServer(proxy(next))
	t.Cleanup(s.Close)
	plan.Addr = strings.TrimPrefix(s.URL, "http://")
}

// ways returns all valid combinations of protocol, codec and version.
func ways() (out [][3]string) {
	for _, protocol := range []string{load.ProtocolConnect, load.ProtocolGRPC, load.ProtocolWeb, load.ProtocolNDJSON} {
		for _, codec := range []string{load.CodecJSON, load.CodecProto} {
			for _, version := range []string{load.HTTP11, load.H2C, load.H2TLS} {
				if protocol == load.ProtocolGRPC && version == load.HTTP11 || protocol == load.ProtocolNDJSON && codec == load.CodecProto {
					continue
				}
				out = append(out, [3]string{protocol, codec, version})
			}
		}
	}
	return out
}

// TestBothEnginesCountAlike of package fast has streams that end by themselves in every way.
func TestStreamsAreKilledInEveryProtocolCodecAndVersion(t *testing.T) {
	for _, way := range ways() {
		t.Run(strings.Join(way[:], " "), func(t *testing.T) {
			t.Parallel()
			g, p := served(t, way[2] == load.H2TLS)
			loadtest.Endless(p)
			d := &p.Classes[0].Dialect
			d.Protocol, d.Codec, d.Command, p.HTTP, p.Streams, p.Classes[0].Check.First = way[0], way[1], "seq 1 3; sleep 1000", way[2], 3, 1
			loadtest.Drive(t.Context(), t, portable.Engine{}, p).Want(t, map[bundle.StreamOutcome]int64{bundle.StreamKilled: 3})
			if p.TLS != nil {
				return
			}
			if marks := listed(t, g.URL()); len(marks) > 0 {
				t.Errorf("left running: %q", marks)
			}
		})
	}
}

// A stream whose start event never came may have left a process. The sweep finds it by its
// mark and kills it, and no others.
func TestProcessesThatNoStreamKnowsAreSwept(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		g, p := served(t, false)
		for _, run := range []string{"test/load", "other/load", "test/load"} {
			s, err := processconnect.NewProcessClient(http.DefaultClient, g.URL()).Start(t.Context(), connect.NewRequest(&process.StartRequest{
				Process: &process.ProcessConfig{Cmd: "sleep", Args: []string{"1000"}, Envs: map[string]string{"ASSAY_RUN": run}},
			}))
			if err != nil || !s.Receive() {
				t.Fatal(err, s.Err())
			}
		}
		behind(t, g, p, func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/Start") {
					panic(http.ErrAbortHandler)
				}
				next.ServeHTTP(w, r)
			}
		})
		c := loadtest.Drive(t.Context(), t, e, p)
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamReset: 1})
		if left := listed(t, g.URL()); c.Found != 2 || len(left) != 1 || left[0] != "other/load" {
			t.Errorf("%d processes were swept, want 2; %q are left, want the foreign one", c.Found, left)
		}
	})
}

// A process whose kill fails at first is killed by the sweep, and counted once.
func TestAProcessThatIsFoundLaterIsCountedOnce(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		var swept atomic.Bool
		g, p := served(t, false)
		behind(t, g, p, func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/List"):
					swept.Store(true)
				case strings.HasSuffix(r.URL.Path, "/SendSignal") && !swept.Load():
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				next.ServeHTTP(w, r)
			}
		})
		loadtest.Endless(p)
		p.Streams, p.Classes[0].Check, p.Classes[0].Dialect.Command = 3, load.Check{}, "sleep 1000"
		c := loadtest.Drive(t.Context(), t, e, p)
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamCancelled: 3})
		if c.Fates()[load.FateKilled] != 3 || c.Found != 0 {
			t.Errorf("fates %v, %d swept besides", c.Fates(), c.Found)
		}
	})
}
