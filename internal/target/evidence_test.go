package target_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// surfaces are the features that stand for a surface, a protocol or a codec.
var surfaces = strings.Fields(`process.start process.list rpc.probe rpc.get filesystem filesystem.watch protocol.connect protocol.grpc protocol.grpc-web
	codec.json codec.proto ndjson.commands metrics.prometheus metrics.process files files.signed execute control-plane control-plane.key stdio.ws`)

// always responds to every request with the same page.
func always(status int, kind, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = nil
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/login?next="+r.URL.Path)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// echoes responds with the body of the request, or with none, in the content type of the request.
func echoes(body bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		text, _ := io.ReadAll(r.Body)
		if body {
			w.Write(text)
		}
	})
}

func TestAServerWithOnePageForEveryPathHasNoSurface(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.Handler
		health  bundle.FeatureState
		detail  string // of process.start
	}{
		"a page":                           {always(200, "text/html; charset=utf-8", "<!doctype html><title>hi</title>"), bundle.FeaturePresent, "HTTP 200 text/html, which is no response of Connect"},
		"a page without a type":            {always(200, "", "<html>hi"), bundle.FeaturePresent, "HTTP 200 without a content type, which is no response of Connect"},
		"an empty object":                  {always(200, "application/json", "{}"), bundle.FeaturePresent, "HTTP 200 application/json, which is no"},
		"an object":                        {always(200, "application/json", `{"ok":true}`), bundle.FeaturePresent, ""},
		"an empty list of processes":       {always(200, "application/json", `{"processes":[]}`), bundle.FeaturePresent, ""},
		"a list":                           {always(200, "application/json", `[]`), bundle.FeaturePresent, ""},
		"an error of files":                {always(404, "application/json", `{"code":404,"message":"no such page"}`), bundle.FeatureAbsent, "404"},
		"an empty body":                    {always(200, "", ""), bundle.FeaturePresent, "HTTP 200 without a content type"},
		"an empty body in JSON":            {always(200, "application/json", ""), bundle.FeaturePresent, ""},
		"no content":                       {always(204, "", ""), bundle.FeaturePresent, "HTTP 204"},
		"a text":                           {always(200, "text/plain", "ok"), bundle.FeaturePresent, "HTTP 200 text/plain"},
		"a text that looks like a sum":     {always(200, "text/plain", "uptime 12\n"), bundle.FeaturePresent, ""},
		"a text that looks like a comment": {always(200, "text/plain", "# welcome\n"), bundle.FeaturePresent, ""},
		"bytes":                            {always(200, "application/octet-stream", "\x00"), bundle.FeaturePresent, ""},
		"a redirect to a login page":       {always(302, "text/html", "<a href=/login>"), bundle.FeatureAbsent, "HTTP 302 text/html"},
		"the body of the request":          {echoes(true), bundle.FeaturePresent, ""},
		"the type of the request":          {echoes(false), bundle.FeaturePresent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := serveBoth(t, tt.handler)
			f := probe(t, target.Options{URL: url, Control: target.Control{APIKey: goodKey}})
			for _, id := range surfaces {
				if f[id].State != bundle.FeatureAbsent || !strings.Contains(f[id].Detail, " /") || !strings.Contains(f[id].Detail, ": ") {
					t.Errorf("%s = %+v, want it absent with the request and its answer", id, f[id])
				}
			}
			if f["health"].State != tt.health {
				t.Errorf("health = %+v, want it %s: any success is one", f["health"], tt.health)
			}
			if got := f["process.start"].Detail; !strings.Contains(got, tt.detail) {
				t.Errorf("process.start: %q, want %q in it", got, tt.detail)
			}
			if _, err := newTarget(t, target.Options{URL: url}).Calibrate(context.Background(), transport.NewClock()); err == nil {
				t.Error("it is calibrated like a gateway")
			}
		})
	}
}

// A page whose text differs from request to request is one by its type.
func TestAPageThatDiffersIsOne(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>"+strings.Map(func(c rune) rune { return 'a' + (c+rune(len(r.URL.Path)))%26 }, r.URL.Path))
	})
	f := probe(t, target.Options{URL: serveHTTP(t, h)})
	for _, id := range surfaces {
		if f[id].State != bundle.FeatureAbsent {
			t.Errorf("%s = %+v, want it absent", id, f[id])
		}
	}
}

// typed changes the content type of the responses to paths with a suffix; only those with status 200.
func typed(h http.Handler, suffix, kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, suffix) {
			w = &typedWriter{ResponseWriter: w, kind: kind}
		}
		h.ServeHTTP(w, r)
	})
}

type typedWriter struct {
	http.ResponseWriter

	kind string
	sent bool
}

func (w *typedWriter) WriteHeader(status int) {
	w.sent = true
	if status == http.StatusOK {
		w.Header()["Content-Type"] = []string{w.kind}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *typedWriter) Write(p []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

func (w *typedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *typedWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// A surface whose content type is unusual, or wrong, is there: its rules judge it.
func TestASurfaceIsKnownByItsMessagesUnderAnyContentType(t *testing.T) {
	for _, tt := range []struct{ suffix, kind, features string }{
		{"/Start", "application/connect+json; charset=utf-8", "process.start process.list process.connect codec.json protocol.connect"},
		{"/Start", "Application/Connect+JSON", "process.start codec.json protocol.connect"},
		{"/Start", "application/json", "process.start process.list codec.json protocol.connect"},
		{"/Start", "text/plain", "process.start process.list"},
		{"/List", "application/json; charset=utf-8", "process.start process.list codec.json protocol.connect"},
		{"/List", "Application/JSON", "process.start process.list codec.json protocol.connect"},
		{"/List", "text/plain", "process.start process.list codec.json protocol.connect"},
		{"/SendSignal", "text/plain", "process.start process.signal"},
		{"/commands", "application/json", "ndjson.commands"},
		{"/commands", "text/html", "ndjson.commands"},
		{"/metrics", "text/plain; version=0.0.4; charset=utf-8", "metrics.prometheus"},
		{"/metrics", "application/octet-stream", "metrics.prometheus"},
		{"/metrics", "text/html", "metrics.prometheus"},
	} {
		t.Run(tt.suffix+" "+tt.kind, func(t *testing.T) {
			t.Parallel() // an unreadable start event is waited for
			f := probe(t, target.Options{URL: serveHTTP(t, typed((&gateway{}).handler(), tt.suffix, tt.kind)), TimeScale: 0.2}, strings.Fields(tt.features)...)
			for _, id := range strings.Fields(tt.features) {
				if f[id].State != bundle.FeaturePresent {
					t.Errorf("%s = %+v, want it present", id, f[id])
				}
			}
		})
	}
}

// Start is the only method of some gateways: its messages alone prove the protocol and the codec.
func TestAProtocolIsKnownByAStartEventUnderAnyContentType(t *testing.T) {
	h := typed((&gateway{noList: true}).handler(), "/Start", "application/json")
	f := probe(t, target.Options{URL: serveHTTP(t, h), TimeScale: 0.2}, "codec.json", "protocol.connect")
	for _, id := range []string{"codec.json", "protocol.connect"} {
		if f[id].State != bundle.FeaturePresent {
			t.Errorf("%s = %+v, want it present", id, f[id])
		}
	}
}

// A gateway that answers an unknown method with success has what it carries out.
func TestAGatewayWithAnEmptyMessageForEveryOtherMethodIsOne(t *testing.T) {
	empty := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
	}
	f := probe(t, target.Options{URL: serveHTTP(t, without((&gateway{}).handler(), empty))}, "process.start", "process.list", "process.signal", "codec.json", "protocol.connect")
	for id := range f {
		if f[id].State != bundle.FeaturePresent {
			t.Errorf("%s = %+v, want it present", id, f[id])
		}
	}
}
