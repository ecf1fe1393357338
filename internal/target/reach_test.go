package target_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

// rawServer accepts connections and handles each with fn after its request head; nil
// never responds. Everything ends with the test.
func rawServer(t *testing.T, fn func(c *net.TCPConn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			running.Go(func() {
				if req, err := http.ReadRequest(bufio.NewReader(c)); err != nil || fn == nil {
					return
				} else if _, err := io.Copy(io.Discard, req.Body); err == nil {
					fn(c.(*net.TCPConn))
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return "http://" + l.Addr().String()
}

func says(text string) func(c *net.TCPConn) {
	return func(c *net.TCPConn) { io.WriteString(c, text) }
}

func answers(t *testing.T, status int, kind, body string) string {
	return serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
}

// A target that is no gateway is refused with a reason and advice, in a few lines.
func TestCalibrateNamesWhyATargetCannotBeTested(t *testing.T) {
	t.Parallel()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	nobody, _ := testkit.ClosedPort(t)
	// Even this deadline comes long after the expected observations.
	soon := target.Options{TimeScale: 0.5}
	tests := []struct {
		name, url, reason, mend string
		options                 target.Options
	}{
		{name: "nothing listens", url: "http://" + nobody, reason: "connection refused", mend: "running"},
		{name: "a nonexistent host name", url: "http://no-such-host.invalid", reason: "cannot resolve", mend: "spelling"},
		{name: "a TLS port", url: strings.Replace(tls.URL, "https", "http", 1), reason: "speaks TLS", mend: "https://127.0.0.1"},
		{name: "a TLS alert", url: rawServer(t, says("\x15\x03\x01\x00\x02\x02\x16")), reason: "speaks TLS"},
		{name: "an HTTP/2 port", url: rawServer(t, says("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00")), options: soon, reason: "speaks HTTP/2"},
		{name: "HTML for a page", url: answers(t, 200, "text/html", "<html>"), reason: "HTML", mend: "--endpoint"},
		{name: "HTML for 404", url: answers(t, 404, "text/html; charset=utf-8", "<html>"), reason: "HTML"},
		{name: "HTML without a head", url: rawServer(t, says("<!DOCTYPE html><p>")), reason: "HTML without an HTTP head"},
		{name: "404", url: answers(t, 404, "text/plain", "404 page not found"), reason: "returns 404", mend: "--endpoint"},
		{name: "401 without a token", url: answers(t, 401, "application/json", `{"code":401}`), reason: "requires credentials", mend: "--token-file"},
		{name: "401 with a Connect error", url: answers(t, 401, "application/json", `{"code":"unauthenticated"}`), reason: "requires credentials", mend: "--token-file"},
		{name: "401 with a token", url: answers(t, 401, "text/plain", "no"), options: target.Options{Token: "wrong-token"}, reason: "rejects the credentials", mend: "--token-file"},
		{name: "401 with a reason", url: answers(t, 401, "application/json", `{"code":"unauthenticated","message":"send the header X-Team\u001b[2J"}`),
			reason: `It says: "send the header X-Team\x1b[2J".`},
		{name: "403 on a page", url: answers(t, 403, "text/html", "<html><head><title>Blocked</title></head><body><script>x()</script><p>No <b>X-Team</b>"),
			reason: `It says: "Blocked No X-Team".`},
		{name: "502 of a proxy that looks for a sandbox", url: answers(t, 502, "application/json", `{"sandboxId":"x","message":"The sandbox was not found","code":502}`),
			reason: `It says: "The sandbox was not found".`, mend: "--header"},
		{name: "401 that repeats the token", url: answers(t, 401, "text/plain", "not wrong-token!"), options: target.Options{Token: "wrong-token"},
			reason: `It says: "not **`},
		{name: "a redirect", url: serveHTTP(t, http.RedirectHandler("/login", http.StatusFound)), reason: "redirected"},
		{name: "a proxy without its upstream", url: answers(t, 502, "text/plain", "bad gateway"), reason: "a proxy responds"},
		{name: "another API", url: answers(t, 200, "text/plain", "hello"), reason: "not Connect, gRPC or gRPC-Web"},
		{name: "silence", url: rawServer(t, nil), options: soon, reason: "does not respond", mend: "--time-scale"},
		{name: "half a response", url: rawServer(t, says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")), options: soon, reason: "did not end"},
		{name: "closed at once", url: rawServer(t, func(c *net.TCPConn) { c.Close() }), reason: "closes it", mend: "finished starting"},
		{name: "reset at once", url: rawServer(t, func(c *net.TCPConn) { c.SetLinger(0); c.Close() }), reason: "resets it"},
		{name: "garbage", url: rawServer(t, says("220 smtp ready\r\n")), reason: `begins "220 smtp`},
		{name: "endless headers", url: rawServer(t, says("HTTP/1.1 200 OK\r\n"+strings.Repeat("A: b\r\n", 30_000))), reason: "headers do not end"},
	}
	errs := make([]error, len(tests))
	var all sync.WaitGroup
	for i, tt := range tests { // in parallel: some wait
		tt.options.URL = tt.url
		tg := newTarget(t, tt.options)
		all.Go(func() { _, errs[i] = tg.Calibrate(context.Background(), transport.NewClock()) })
	}
	all.Wait()
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := errs[i]
			var u *target.UnreachableError
			if !errors.As(err, &u) {
				t.Fatalf("err = %v, want *UnreachableError", err)
			}
			if !strings.Contains(u.Reason, tt.reason) || !strings.Contains(u.Mend, tt.mend) {
				t.Errorf("reason %q, mend %q; want %q and %q in them", u.Reason, u.Mend, tt.reason, tt.mend)
			}
			if text := u.Error(); strings.Count(text, "\n") > 20 || len(text) > 1000 || !strings.Contains(text, u.URL) {
				t.Errorf("message = %q", text)
			}
			if strings.Contains(err.Error(), "wrong-token") {
				t.Error("the message holds the token")
			}
		})
	}
}

func TestCalibrateMeasuresTheTarget(t *testing.T) {
	for name, g := range map[string]*gateway{"with List": {}, "without List": {noList: true}} {
		t.Run(name, func(t *testing.T) {
			tg := newTarget(t, target.Options{URL: g.serve(t), TimeScale: 2})
			cal, err := tg.Calibrate(context.Background(), transport.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			if cal.RTT <= 0 || cal.Spawn <= 0 || cal.Samples != 5 || cal.TimeScale != 2 {
				t.Errorf("calibration = %+v", cal)
			}
			if started, running := g.idle(); started != 5 || running != 0 {
				t.Errorf("%d processes were started, %d still run", started, running)
			}
		})
	}
}

func TestCalibrateWithoutTheListPath(t *testing.T) {
	g := &gateway{}
	inner := g.handler()
	url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/List") {
			http.NotFound(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	cal, err := newTarget(t, target.Options{URL: url}).Calibrate(context.Background(), transport.NewClock())
	if err != nil || cal.RTT <= 0 || cal.Spawn <= 0 {
		t.Errorf("calibration = %+v, %v", cal, err)
	}
}

func TestCalibrateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	url := rawServer(t, func(*net.TCPConn) { cancel() })
	if _, err := newTarget(t, target.Options{URL: url}).Calibrate(ctx, transport.NewClock()); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestWaitTriesUntilTheTargetAccepts(t *testing.T) {
	addr, listen := testkit.ClosedPort(t)
	tg := newTarget(t, target.Options{URL: "http://" + addr})
	var u *target.UnreachableError
	if err := tg.Wait(context.Background(), 0); !errors.As(err, &u) {
		t.Fatalf("err = %v, want *UnreachableError", err)
	}
	began := time.Now()
	if err := tg.Wait(context.Background(), 100*time.Millisecond); !errors.As(err, &u) || time.Since(began) < 100*time.Millisecond {
		t.Fatalf("err = %v after %s, want *UnreachableError after 100 ms", err, time.Since(began))
	}
	result := make(chan error)
	go func() { result <- tg.Wait(context.Background(), patience) }()
	listen()
	if err := <-result; err != nil {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tg.Wait(ctx, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want canceled", err)
	}
}
