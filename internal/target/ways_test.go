package target_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
	probev1 "assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

const (
	goodToken = "a-good-token"
	goodKey   = "a-good-key"
)

// mandatory admits only requests with the token, or with the key.
func mandatory(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed := r.URL.Path == "/files" && r.URL.Query().Get("signature") == signature(r)
		keyed := r.URL.Path == "/v2/sandboxes" && r.Header.Get("X-Api-Key") == goodKey
		if r.Header.Get("X-Access-Token") != goodToken && !signed && !keyed {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// signature is the signature of a download.
func signature(r *http.Request) string {
	sum := sha256.Sum256([]byte(r.URL.Query().Get("path") + ":read::" + goodToken))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// full serves everything that a gateway can have beside the process service.
func (g *gateway) full() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", g.handler())
	mux.Handle(filesystemconnect.NewFilesystemHandler(files{}))
	mux.Handle(probeconnect.NewProbeHandler(prober{}))
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "# TYPE process_open_fds gauge\nprocess_open_fds 9\n")
	})
	mux.Handle("GET /attach", &sockets{})
	mux.HandleFunc("GET /files", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"code":400,"message":"%s is a directory"}`, r.URL.Query().Get("path"))
	})
	mux.HandleFunc("POST /execute", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"type":"end_of_execution"}`+"\n")
	})
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "[]")
	})
	return mux
}

type files struct {
	filesystemconnect.UnimplementedFilesystemHandler
}

func (files) Stat(context.Context, *connect.Request[filesystem.StatRequest]) (*connect.Response[filesystem.StatResponse], error) {
	return connect.NewResponse(&filesystem.StatResponse{}), nil
}

func (files) WatchDir(_ context.Context, _ *connect.Request[filesystem.WatchDirRequest], s *connect.ServerStream[filesystem.WatchDirResponse]) error {
	return s.Send(&filesystem.WatchDirResponse{Event: &filesystem.WatchDirResponse_Start{Start: &filesystem.WatchDirResponse_StartEvent{}}})
}

type prober struct {
	probeconnect.UnimplementedProbeHandler
}

func (prober) Unary(context.Context, *connect.Request[probev1.UnaryRequest]) (*connect.Response[probev1.UnaryResponse], error) {
	return connect.NewResponse(&probev1.UnaryResponse{}), nil
}

func (prober) Safe(context.Context, *connect.Request[probev1.SafeRequest]) (*connect.Response[probev1.SafeResponse], error) {
	return connect.NewResponse(&probev1.SafeResponse{}), nil
}

// serveOn serves a handler in cleartext on the given HTTP versions.
func serveOn(t *testing.T, h http.Handler, http1, h2c bool) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(http1)
	s.Config.Protocols.SetUnencryptedHTTP2(h2c)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func serveBoth(t *testing.T, h http.Handler) string { return serveOn(t, h, true, true) }

// serveTLS serves a handler over TLS and returns its certificate in PEM.
func serveTLS(t *testing.T, h http.Handler, h2 bool) (url string, ca []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = h2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// onlyType refuses every request of another content type than prefix.
func onlyType(prefix string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := r.Header.Get("Content-Type")
		if kind != prefix && !strings.HasPrefix(kind, prefix+"+") {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// A target without the most common way is calibrated and probed in a way that it has.
func TestTargetIsSpokenToInTheFirstWayThatItHas(t *testing.T) {
	g := &gateway{}
	secure, ca := serveTLS(t, g.handler(), true)
	old, oldCA := serveTLS(t, g.handler(), false)
	tests := []struct {
		name    string
		options target.Options
		way     string
		present string // features about the way
	}{
		{"HTTP/1.1 only", target.Options{URL: serveOn(t, g.handler(), true, false)}, "connect/json/1.1/identity",
			"codec.json codec.proto http.1 protocol.connect protocol.grpc-web"},
		{"h2c only", target.Options{URL: serveOn(t, g.handler(), false, true)}, "connect/json/h2c/identity",
			"codec.json codec.proto http.h2c protocol.connect protocol.grpc protocol.grpc-web"},
		{"gRPC only", target.Options{URL: serveOn(t, onlyType("application/grpc", g.handler()), false, true)}, "grpc/proto/h2c/identity",
			"codec.json codec.proto http.h2c protocol.grpc"},
		{"gRPC with proto only", target.Options{URL: serveOn(t, onlyExactly("application/grpc+proto", g.handler()), false, true)}, "grpc/proto/h2c/identity",
			"codec.proto http.h2c protocol.grpc"},
		{"gRPC-Web only", target.Options{URL: serveOn(t, onlyType("application/grpc-web", g.handler()), true, false)}, "grpc-web/proto/1.1/identity",
			"codec.json codec.proto http.1 protocol.grpc-web"},
		{"TLS only", target.Options{URL: secure, CACert: ca}, "connect/json/1.1/identity",
			"codec.json codec.proto http.1 http.h2-tls protocol.connect protocol.grpc protocol.grpc-web"},
		{"TLS without HTTP/2", target.Options{URL: old, CACert: oldCA}, "connect/json/1.1/identity",
			"codec.json codec.proto http.1 protocol.connect protocol.grpc-web"},
		{"a path prefix", target.Options{URL: serveBoth(t, http.StripPrefix("/sandbox/7", g.handler())) + "/sandbox/7"}, "connect/json/1.1/identity",
			"codec.json codec.proto http.1 http.h2c protocol.connect protocol.grpc protocol.grpc-web"},
		{"a mandatory token", target.Options{URL: serveBoth(t, mandatory(g.handler())), Token: goodToken}, "connect/json/1.1/identity",
			"codec.json codec.proto http.1 http.h2c protocol.connect protocol.grpc protocol.grpc-web"},
	}
	ids := strings.Fields("codec.json codec.proto http.1 http.h2-tls http.h2c protocol.connect protocol.grpc protocol.grpc-web")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tg := newTarget(t, tt.options)
			cal, err := tg.Calibrate(context.Background(), transport.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			if cal.RTT <= 0 || cal.Spawn <= 0 || cal.Samples != 5 || tg.Way().String() != tt.way {
				t.Errorf("calibration = %+v, way %s, want %s", cal, tg.Way(), tt.way)
			}
			f, err := tg.Probe(context.Background(), transport.NewClock(), cal, append(ids, "process.start", "process.signal", "process.input", "process.stream-input", "compress.gzip")...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, id := range ids {
				if f[id].State == bundle.FeaturePresent {
					got = append(got, id)
				} else if f[id].State != bundle.FeatureAbsent {
					t.Errorf("%s = %+v", id, f[id])
				}
			}
			if want := strings.Fields(tt.present); !slices.Equal(got, want) {
				t.Errorf("present = %q, want %q\n%+v", got, want, f)
			}
			for _, id := range []string{"process.start", "process.signal", "process.input", "process.stream-input", "compress.gzip"} {
				if f[id].State != bundle.FeaturePresent {
					t.Errorf("%s = %+v", id, f[id])
				}
			}
		})
	}
}

// onlyExactly refuses every request of another content type than kind.
func onlyExactly(kind string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != kind {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func TestShellOfTheSDKsIsTakenWhereTheUsualOneIsRefused(t *testing.T) {
	url := (&gateway{bashOnly: true}).serve(t)
	tg := newTarget(t, target.Options{URL: url})
	cal, err := tg.Calibrate(context.Background(), transport.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tg.Shell(), " "); got != "/bin/bash -l -c" || strings.Join(tg.Identity().Shell, " ") != got {
		t.Errorf("shell = %q", got)
	}
	f, err := tg.Probe(context.Background(), transport.NewClock(), cal, "process.start", "process.input")
	if err != nil {
		t.Fatal(err)
	}
	if s := f["process.start"]; s.State != bundle.FeaturePresent || !strings.Contains(s.Detail, "/bin/sh -c is refused, /bin/bash -l -c is accepted") {
		t.Errorf("process.start = %+v", s)
	}
	asked := newTarget(t, target.Options{URL: url, Shell: []string{"/bin/sh", "-c"}})
	if _, err := asked.Calibrate(context.Background(), transport.NewClock()); err != nil || asked.Shell()[0] != "/bin/sh" {
		t.Errorf("the requested shell became %q (%v)", asked.Shell(), err)
	}
	f, err = asked.Probe(context.Background(), transport.NewClock(), cal, "process.start")
	if s := f["process.start"]; err != nil || s.State != bundle.FeatureAbsent || !strings.Contains(s.Detail, "--shell '/bin/bash -l -c'") {
		t.Errorf("a refused shell: %+v (%v), want advice", s, err)
	}
}

func TestFailureOfTLSSaysWhatToDo(t *testing.T) {
	secure, ca := serveTLS(t, (&gateway{}).handler(), true)
	plain := serveOn(t, (&gateway{}).handler(), true, false)
	named := strings.Replace(secure, "127.0.0.1", "localhost", 1)
	tests := []struct {
		name         string
		options      target.Options
		reason, mend string
	}{
		{"an unknown authority", target.Options{URL: secure}, "untrusted", "--cacert FILE"},
		{"a plain port", target.Options{URL: strings.Replace(plain, "http", "https", 1), Insecure: true}, "does not speak TLS", "write http://127.0.0.1"},
		{"another name", target.Options{URL: named, CACert: ca}, "not for localhost", "--insecure"},
		{"cleartext to a TLS port", target.Options{URL: strings.Replace(secure, "https", "http", 1)}, "speaks TLS", "https://127.0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newTarget(t, tt.options).Calibrate(context.Background(), transport.NewClock())
			var u *target.UnreachableError
			if !errors.As(err, &u) || !strings.Contains(u.Reason, tt.reason) || !strings.Contains(u.Mend, tt.mend) {
				t.Errorf("err = %v; want %q and %q in it", err, tt.reason, tt.mend)
			}
		})
	}
	for name, o := range map[string]target.Options{"with the authority": {URL: secure, CACert: ca}, "without verification": {URL: named, Insecure: true}} {
		if _, err := newTarget(t, o).Calibrate(context.Background(), transport.NewClock()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]target.Options{"no PEM": {URL: secure, CACert: []byte("x")}, "for http": {URL: plain, Insecure: true}} {
		if _, err := target.New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestDialSpeaksTheVersionThatWasAskedFor(t *testing.T) {
	secure, ca := serveTLS(t, (&gateway{}).handler(), true)
	plain := newTarget(t, target.Options{URL: serveBoth(t, (&gateway{}).handler())})
	safe := newTarget(t, target.Options{URL: secure, CACert: ca})
	tests := []struct {
		name, version string
		target        *target.Target
		want          string // the recorded version, "" for a refusal
	}{
		{"the default in cleartext", "", plain, "1.1"},
		{"1.1 in cleartext", "1.1", plain, "1.1"},
		{"h2c in cleartext", "h2c", plain, "h2c"},
		{"h2 in cleartext", "h2", plain, "h2c"},
		{"h2-tls in cleartext", "h2-tls", plain, ""},
		{"1.1 over TLS", "1.1", safe, "1.1"},
		{"h2-tls over TLS", "h2-tls", safe, "h2-tls"},
		{"h2 over TLS", "h2", safe, "h2-tls"},
		{"h2c over TLS", "h2c", safe, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := transport.NewRecorder(transport.NewClock(), nil)
			conn, err := tt.target.Dial(context.Background(), rec, "c", tt.version)
			var dial *transport.DialError
			if (err != nil) != (tt.want == "") || err != nil && !errors.As(err, &dial) {
				t.Fatalf("err = %v", err)
			}
			conns, _ := rec.Finish(nil)
			if err == nil && (conns[0].HTTP != tt.want || conn.HTTP2() != (tt.want != "1.1") || (conns[0].TLS != nil) != tt.target.Secure()) {
				t.Errorf("connection = %+v", conns[0])
			}
		})
	}
	if a := plain.Authority(); "http://"+a != plain.Identity().URL {
		t.Errorf("authority = %q", a)
	}
}
