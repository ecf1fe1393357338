package target_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// recorder notes the requests that a handler gets.
type recorder struct {
	mu   sync.Mutex
	seen []string
	http.Handler
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, q.Method+" "+q.URL.Path)
	r.mu.Unlock()
	r.Handler.ServeHTTP(w, q)
}

func (r *recorder) saw(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.seen, "\n"), part)
}

func TestAServiceWithoutProcessesIsMeasuredByPlainRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		demand target.Demand
		rpc    bool // the process service is looked for
	}{
		"where no gateway is needed":   {target.GatewayUnneeded, false},
		"where a gateway is an option": {target.GatewayOptional, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{Handler: http.NotFoundHandler()}
			tg := newTarget(t, target.Options{URL: serveHTTP(t, r), Gateway: tt.demand})
			cal, err := tg.Calibrate(context.Background(), transport.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			if cal.RTT <= 0 || cal.Spawn != cal.RTT || cal.End != 0 || cal.Samples != 5 || !tg.IsService() {
				t.Errorf("calibration = %+v, service %t", cal, tg.IsService())
			}
			if r.saw("process.Process") != tt.rpc {
				t.Errorf("requests = %q, want an RPC: %t", r.seen, tt.rpc)
			}
		})
	}
}

func TestAGatewayIsMeasuredAsOneWhereItIsAnOption(t *testing.T) {
	tg := newTarget(t, target.Options{URL: (&gateway{}).serve(t), Gateway: target.GatewayOptional})
	cal, err := tg.Calibrate(context.Background(), transport.NewClock())
	if err != nil || tg.IsService() || cal.End == 0 {
		t.Errorf("calibration = %+v, service %t, %v", cal, tg.IsService(), err)
	}
}

func TestAServiceIsReachedInTheHTTPVersionAndAtThePathThatItServes(t *testing.T) {
	only := func(path string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					conn.Close()
				}
			}
		})
	}
	for name, tt := range map[string]struct{ url, knock, http string }{
		"HTTP/1.1":                {serveOn(t, http.NotFoundHandler(), true, false), "", transport.HTTP1},
		"only HTTP/2":             {serveOn(t, http.NotFoundHandler(), false, true), "", transport.H2C},
		"no response at the root": {serveHTTP(t, only("/api/items")), "api/items", transport.HTTP1},
	} {
		t.Run(name, func(t *testing.T) {
			tg := newTarget(t, target.Options{URL: tt.url, Gateway: target.GatewayUnneeded, Knock: tt.knock})
			_, err := tg.Calibrate(context.Background(), transport.NewClock())
			if err != nil || tg.Way().HTTP != tt.http {
				t.Errorf("way %s, %v; want %s", tg.Way(), err, tt.http)
			}
		})
	}
}

func TestAServiceThatDoesNotRespondCannotBeTested(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for name, tt := range map[string]struct{ url, reason string }{
		"closed at once":               {rawServer(t, func(c *net.TCPConn) { c.Close() }), "closes it"},
		"garbage":                      {rawServer(t, says("220 smtp ready\r\n")), "is not HTTP"},
		"a TLS port":                   {rawServer(t, says("\x15\x03\x01\x00\x02\x02\x16")), "speaks TLS"},
		"silence":                      {rawServer(t, nil), "does not respond"},
		"a proxy without its upstream": {answers(t, 502, "text/plain", "no upstream"), `It says: "no upstream"`},
		"an endless page":              {serveHTTP(t, http.HandlerFunc(endless)), ""},
		"a page that asks for a login": {answers(t, 401, "text/html", "<html>"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tg := newTarget(t, target.Options{URL: tt.url, Gateway: target.GatewayUnneeded, TimeScale: 0.5})
			_, err := tg.Calibrate(context.Background(), transport.NewClock())
			var u *target.UnreachableError
			switch {
			case tt.reason == "" && err != nil:
				t.Errorf("err = %v, want none: any response will do", err)
			case tt.reason != "" && (!errors.As(err, &u) || !strings.Contains(u.Reason, tt.reason)):
				t.Errorf("err = %v, want %q in it", err, tt.reason)
			}
		})
	}
}

func TestTheFeaturesOfAServiceAreThoseOfItsHTTP(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	r := &recorder{Handler: mux}
	tg := newTarget(t, target.Options{URL: serveOn(t, r, true, false), Gateway: target.GatewayUnneeded})
	clock := transport.NewClock()
	cal, err := tg.Calibrate(context.Background(), clock)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bundle.FeatureState{
		"http.1": bundle.FeaturePresent, "http.h2c": bundle.FeatureAbsent, "http.h2-tls": bundle.FeatureAbsent,
		"health": bundle.FeaturePresent, "metrics.prometheus": bundle.FeatureAbsent,
		"process.start": bundle.FeatureAbsent, "process.list": bundle.FeatureAbsent,
		"protocol.connect": bundle.FeatureUnknown, "codec.json": bundle.FeatureUnknown,
	}
	var ids []string
	for id := range want {
		ids = append(ids, id)
	}
	got, err := tg.Probe(context.Background(), clock, cal, ids...)
	if err != nil {
		t.Fatal(err)
	}
	for id, state := range want {
		if got[id].State != state {
			t.Errorf("%s is %+v, want %s", id, got[id], state)
		}
	}
	if r.saw("process.Process") {
		t.Errorf("requests = %q, want no RPC", r.seen)
	}
}

func TestAnOpenHeaderIsRefusedIfItCanCarryASecret(t *testing.T) {
	for text, want := range map[string]string{
		"X-Team: blue":               "",
		"E2b-Sandbox-Id: i8x":        "",
		"X-Empty:":                   "",
		"Authorization: Bearer abc":  "--header-file",
		"x-access-token: hidden":     "--header-file",
		"Cookie: a=hidden":           "--header-file",
		"X-API-Key: hidden":          "--header-file",
		"X-Forwarded: Bearer hidden": "--header-file",
		"no colon":                   "want \"Name: value\"",
		"a b: c":                     "want \"Name: value\"",
		"X-Team: a\r\nhidden: b":     "control character",
	} {
		h, err := target.ParseOpenHeader(text)
		switch {
		case want == "" && (err != nil || !strings.HasPrefix(text, h.Name+":")):
			t.Errorf("%q: %+v, %v", text, h, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden")):
			t.Errorf("%q: err = %v, want %q in it, and no value", text, err, want)
		}
	}
}

func TestAnOpenHeaderIsSentAndNoSecret(t *testing.T) {
	open := bundle.Header{Name: "X-Team", Value: "a-long-team-name"}
	hidden := bundle.Header{Name: "X-Other", Value: "another-long-value"}
	tg := newTarget(t, target.Options{URL: "http://127.0.0.1:1", Headers: []bundle.Header{hidden}, Open: []bundle.Header{open}})
	got := tg.Headers("s", "r")
	if n := len(got); got[n-2] != hidden || got[n-1] != open {
		t.Errorf("headers = %v", got)
	}
	if text := tg.Redactor().Text(open.Value + " " + hidden.Value); !strings.Contains(text, open.Value) || strings.Contains(text, hidden.Value) {
		t.Errorf("shown as %q", text)
	}
}
