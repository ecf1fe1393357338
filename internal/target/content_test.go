package target_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// answersInJSON responds with success in JSON to every call of a content type.
func answersInJSON(h http.Handler, kind, as, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Content-Type"), kind) {
			h.ServeHTTP(w, r)
			return
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", as)
		io.WriteString(w, body)
	})
}

// A response in another type than the request shows that the request was not
// understood.
func TestCodecOrProtocolIsKnownByTheTypeOfTheAnswer(t *testing.T) {
	for _, tt := range []struct{ name, kind, as, body, feature string }{
		{"proto in JSON", "proto", "application/json", `{"processes":[]}`, "codec.proto"},
		{"proto in an empty body declared as JSON", "proto", "application/json", "", "codec.proto"},
		{"proto in JSON declared as proto", "proto", "application/proto", `{"processes":[]}`, "codec.proto"},
		{"proto in an error about JSON", "proto", "application/json", `{"code":"invalid_argument"}`, "codec.proto"},
		{"gRPC in JSON", "application/grpc", "application/json", `{}`, "protocol.grpc"},
		{"gRPC-Web in JSON", "application/grpc-web", "application/json", `{}`, "protocol.grpc-web"},
		{"gRPC-Web without a status", "application/grpc-web", "application/grpc-web+proto", "", "protocol.grpc-web"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := answersInJSON((&gateway{}).handler(), tt.kind, tt.as, tt.body)
			if f := probe(t, target.Options{URL: serveBoth(t, h)}, tt.feature); f[tt.feature].State != bundle.FeatureAbsent {
				t.Errorf("%s = %+v, want it absent", tt.feature, f[tt.feature])
			}
		})
	}
}

// A parser that fails on proto reports that as an RPC error, which does not prove the
// codec.
func TestErrorInACodecIsNoProofOfIt(t *testing.T) {
	g := &gateway{}
	inner := g.handler()
	for name, code := range map[string]string{"invalid_argument": "invalid_argument", "not_found": "not_found", "unknown": "unknown"} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Content-Type"), "proto") {
				io.Copy(io.Discard, r.Body)
				inWords(w, 400, code, "cannot be read")
				return
			}
			inner.ServeHTTP(w, r)
		})
		if f := probe(t, target.Options{URL: serveHTTP(t, h)}, "codec.proto", "codec.json"); f["codec.proto"].State != bundle.FeatureAbsent || f["codec.json"].State != bundle.FeaturePresent {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// If every call fails, a response counts if it equals the one in the known way.
func TestCodecIsKnownByTheSameRefusal(t *testing.T) {
	inner := (&gateway{bashOnly: true, noList: true}).handler()
	f := probe(t, target.Options{URL: serveHTTP(t, inner)}, "codec.proto", "codec.json")
	if f["codec.proto"].State != bundle.FeaturePresent || f["codec.json"].State != bundle.FeaturePresent {
		t.Errorf("features = %+v", f)
	}
}

// packed reports whether a request declares gzip; take removes the declaration.
func packed(r *http.Request, take bool) bool {
	found := false
	for _, name := range []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"} {
		found = found || r.Header.Get(name) == "gzip"
		if take {
			r.Header.Del(name)
		}
	}
	return found
}

func TestGzipIsKnownByWhatWasCompressed(t *testing.T) {
	inner := (&gateway{}).handler()
	refuse := func(w http.ResponseWriter) { inWords(w, 501, "unimplemented", "no gzip") }
	unary := func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, "/Start") }
	for _, tt := range []struct {
		name string
		with func(w http.ResponseWriter, r *http.Request) (done bool)
		want bundle.FeatureState
	}{
		{"is decoded", func(http.ResponseWriter, *http.Request) bool { return false }, bundle.FeaturePresent},
		{"is refused", func(w http.ResponseWriter, r *http.Request) bool {
			if packed(r, false) {
				refuse(w)
			}
			return packed(r, false)
		}, bundle.FeatureAbsent},
		{"is refused in unary calls", func(w http.ResponseWriter, r *http.Request) bool {
			if packed(r, false) && unary(r) {
				refuse(w)
			}
			return packed(r, false) && unary(r)
		}, bundle.FeatureAbsent},
		{"is ignored only by List", func(w http.ResponseWriter, r *http.Request) bool {
			if packed(r, true) && strings.HasSuffix(r.URL.Path, "/List") {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, "{}")
				return true
			}
			clearFlag(r)
			return false
		}, bundle.FeatureAbsent},
		{"is read without decompression in streams", func(_ http.ResponseWriter, r *http.Request) bool {
			if !unary(r) {
				packed(r, true)
				clearFlag(r)
			}
			return false
		}, bundle.FeaturePresent}, // a bug that the probe must not hide
		{"is read without decompression in streams, and there are no unary calls", func(w http.ResponseWriter, r *http.Request) bool {
			if unary(r) {
				http.NotFound(w, r)
				return true
			}
			packed(r, true)
			clearFlag(r)
			return false
		}, bundle.FeatureAbsent},
		{"is answered with a failure", func(w http.ResponseWriter, r *http.Request) bool {
			if packed(r, false) {
				body, _ := io.ReadAll(r.Body)
				code := "internal"
				if bytes.Contains(body, []byte("not gzip")) {
					code = "unknown"
				}
				inWords(w, 500, code, "overload")
			}
			return packed(r, false)
		}, bundle.FeatureUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !tt.with(w, r) {
					inner.ServeHTTP(w, r)
				}
			}))
			if f := probe(t, target.Options{URL: url}, "compress.gzip"); f["compress.gzip"].State != tt.want || f["compress.gzip"].Detail == "" {
				t.Errorf("compress.gzip = %+v, want %s", f["compress.gzip"], tt.want)
			}
		})
	}
}

// clearFlag clears the compressed flag of a compressed message.
func clearFlag(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/connect+") && len(body) > 0 {
		body[0] &^= 1
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
}

func TestAliasIsKnownByItsLines(t *testing.T) {
	const start, end = `{"type":"start","pid":7}` + "\n", `{"type":"end","exit_code":0}` + "\n"
	for _, tt := range []struct {
		name, kind, body string
		want             bundle.FeatureState
	}{
		{"start to end", "application/x-ndjson", start + `{"type":"stdout","data":"assay-probe\n"}` + "\n" + end, bundle.FeaturePresent},
		{"lines of a newer alias beside them", "application/x-ndjson", start + `{"type":"usage","cpu":1}` + "\n" + end, bundle.FeaturePresent},
		{"no end", "application/x-ndjson", start, bundle.FeatureUnknown},
		{"an end of another form", "application/x-ndjson", start + `{"type":"exit","code":0}` + "\n", bundle.FeatureAbsent},
		{"a start of another form", "application/x-ndjson", `{"type":"start","id":"7f"}` + "\n" + end, bundle.FeatureAbsent},
		{"lines of another form", "application/x-ndjson", `{"event":"started"}` + "\n" + `{"event":"done"}` + "\n", bundle.FeatureAbsent},
		{"one JSON object", "application/json", `{"ok":true,"id":5}` + "\n", bundle.FeatureAbsent},
		{"a page", "text/html", "<html>\n", bundle.FeatureAbsent},
		{"nothing", "application/x-ndjson", "", bundle.FeatureAbsent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /commands", func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); !bytes.Contains(body, []byte("ASSAY_RUN=assay/probe")) {
					t.Errorf("%s is not marked", body)
				}
				w.Header().Set("Content-Type", tt.kind)
				io.WriteString(w, tt.body)
			})
			if f := probe(t, target.Options{URL: serveHTTP(t, mux)}, "ndjson.commands"); f["ndjson.commands"].State != tt.want {
				t.Errorf("ndjson.commands = %+v, want %s", f["ndjson.commands"], tt.want)
			}
		})
	}
}

func TestUserIsKnownByOneThatIsTaken(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refused func(user string, ok bool) bool
		want    bundle.FeatureState
	}{
		{"a nonexistent user is refused", func(user string, _ bool) bool { return user == "assay-no-such-user" }, bundle.FeaturePresent},
		{"every user but one is refused", func(user string, ok bool) bool { return ok && user != "user" }, bundle.FeaturePresent},
		{"every user is refused", func(_ string, ok bool) bool { return ok }, bundle.FeatureUnknown},
		{"no user is refused", func(string, bool) bool { return false }, bundle.FeatureUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inner := (&gateway{ghosts: true}).handler()
			url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, _, ok := r.BasicAuth(); tt.refused(user, ok) {
					inWords(w, 401, "unauthenticated", "no")
					return
				}
				inner.ServeHTTP(w, r)
			}))
			if f := probe(t, target.Options{URL: url}, "process.user"); f["process.user"].State != tt.want {
				t.Errorf("process.user = %+v, want %s", f["process.user"], tt.want)
			}
		})
	}
}

func TestDaemonIsKnownByItsHealthAndItsMetrics(t *testing.T) {
	const figures = `{"ts":1,"cpu_count":2,"cpu_used_pct":3,"mem_total":4}`
	for _, tt := range []struct {
		name, store, metrics, want string
		health                     int
	}{
		{"the daemon", "no-store", figures, "envd", 204},
		{"a health that may be cached", "", figures, "", 204},
		{"a health with a body", "no-store", figures, "", 200},
		{"other metrics", "no-store", `{"ts":1}`, "", 204},
		{"an exposition", "no-store", "a 1\n", "", 204},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Vary", "Origin")
				w.Header().Set("Cache-Control", tt.store)
				w.WriteHeader(tt.health)
			})
			mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, tt.metrics) })
			tg := newTarget(t, target.Options{URL: serveHTTP(t, mux)})
			if _, err := tg.Probe(context.Background(), transport.NewClock(), bundle.Calibration{}, "health", "metrics.prometheus"); err != nil {
				t.Fatal(err)
			}
			if got := tg.Identity().Looks; got != tt.want {
				t.Errorf("the target looks like %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCalibrateMeasuresTheEndOfACommand(t *testing.T) {
	const shell = 60 * time.Millisecond
	for _, tt := range []struct {
		name    string
		gateway *gateway
		least   time.Duration
		none    bool
	}{
		{"at once", &gateway{}, 1, false},
		{"a slow shell", &gateway{endAfter: shell}, shell, false},
		{"no end event", &gateway{endless: true}, 0, true},
	} {
		cal, err := newTarget(t, target.Options{URL: tt.gateway.serve(t)}).Calibrate(context.Background(), transport.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		if end := time.Duration(cal.End); end < tt.least || (end == 0) != tt.none || !tt.none && cal.End < cal.Spawn {
			t.Errorf("%s: calibration = %+v, want an end after %v", tt.name, cal, tt.least)
		}
	}
}
