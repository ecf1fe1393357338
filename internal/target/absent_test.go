package target_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// without hides methods and paths of a handler; hidden and unknown ones are refused
// with refuse.
func without(h http.Handler, refuse http.HandlerFunc, hidden ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		known := slices.Contains([]string{"/commands", "/metrics", "/health"}, path)
		for _, method := range []string{"Start", "Connect", "List", "Update", "SendSignal", "SendInput", "CloseStdin", "StreamInput"} {
			known = known || path == "/process.Process/"+method
		}
		if !known || slices.ContainsFunc(hidden, func(name string) bool { return strings.HasSuffix(path, "/"+name) }) {
			io.Copy(io.Discard, r.Body)
			refuse(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// inWords responds with an RPC error in JSON.
func inWords(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message})
}

// refusals returns ways to say that a route does not exist.
func refusals() map[string]http.HandlerFunc {
	var n atomic.Int64
	return map[string]http.HandlerFunc{
		"not_found with the route": func(w http.ResponseWriter, r *http.Request) {
			inWords(w, 404, "not_found", "route "+r.Method+" "+r.URL.Path)
		},
		"not_found with a number of the request": func(w http.ResponseWriter, r *http.Request) {
			inWords(w, 404, "not_found", fmt.Sprintf("nothing here (request 7f%03d)", n.Add(1)))
		},
		"not_found without a message": func(w http.ResponseWriter, _ *http.Request) { inWords(w, 404, "not_found", "") },
		"invalid_argument": func(w http.ResponseWriter, r *http.Request) {
			inWords(w, 400, "invalid_argument", "no method "+strings.ToUpper(r.URL.Path))
		},
		"a bad request in text": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "cannot "+r.Method+" "+r.URL.Path, http.StatusBadRequest)
		},
		"a page for every path": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"websocket":"upgrade","processes":[]}`)
		},
		"a bad request for every path, in JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":"no websocket here"}`)
		},
	}
}

func TestWhatIsMissingIsAbsentInWhateverWordsItIsRefused(t *testing.T) {
	features := map[string]string{
		"List": "process.list", "Connect": "process.connect", "Update": "process.update", "SendSignal": "process.signal",
		"SendInput": "process.input", "CloseStdin": "process.close-stdin", "StreamInput": "process.stream-input",
		"commands": "ndjson.commands", "metrics": "metrics.prometheus",
	}
	for name, refuse := range refusals() {
		for hidden, id := range features {
			t.Run(name+", "+hidden, func(t *testing.T) {
				g := &gateway{}
				h := without(g.handler(), refuse, hidden)
				if hidden == "SendSignal" {
					h = g.mercy(h, 2) // one for the probe, one for the kill
				}
				f := probe(t, target.Options{URL: serveHTTP(t, h)}, id)
				if f[id].State != bundle.FeatureAbsent {
					t.Errorf("%s = %+v, want it absent", id, f[id])
				}
			})
		}
		t.Run(name+", other surfaces", func(t *testing.T) {
			g := &gateway{keepalive: true}
			f := probe(t, target.Options{URL: serveHTTP(t, without(g.handler(), refuse))})
			want := strings.Fields(others)
			if strings.HasSuffix(name, "everything") {
				want = slices.DeleteFunc(want, func(id string) bool { return id == "protocol.grpc" || id == "http.h2c" })
			}
			for _, id := range want {
				if f[id].State != bundle.FeatureAbsent {
					t.Errorf("%s = %+v, want it absent", id, f[id])
				}
			}
			for _, id := range features {
				if f[id].State != bundle.FeaturePresent {
					t.Errorf("%s = %+v, want it present", id, f[id])
				}
			}
		})
	}
}

// A method that does not find a running process exists, but is broken.
func TestMethodThatDoesNotFindAProcessThatRunsIsThere(t *testing.T) {
	for name, refuse := range refusals() {
		t.Run(name, func(t *testing.T) {
			g := &gateway{killsNobody: true}
			h := g.mercy(without(g.handler(), refuse), 2) // one for the probe, one for the kill
			f := probe(t, target.Options{URL: serveHTTP(t, h)}, "process.signal")
			if got := f["process.signal"]; got.State != bundle.FeaturePresent || !strings.Contains(got.Detail, "not found") {
				t.Errorf("process.signal = %+v, want it present, with its response", got)
			}
		})
	}
}

func TestWrongPathIsNoGateway(t *testing.T) {
	unimplemented := func(w http.ResponseWriter, _ *http.Request) { inWords(w, 501, "unimplemented", "unknown method") }
	for name, refuse := range map[string]http.HandlerFunc{
		"not_found with the route":               refusals()["not_found with the route"],
		"not_found with a number of the request": refusals()["not_found with a number of the request"],
		"not_found without a message":            refusals()["not_found without a message"],
		"invalid_argument":                       refusals()["invalid_argument"],
		"a page for every path":                  refusals()["a page for every path"],
		"unimplemented":                          unimplemented,
		"404 in text":                            http.NotFound,
	} {
		t.Run(name, func(t *testing.T) {
			h := without((&gateway{}).handler(), refuse)
			_, err := newTarget(t, target.Options{URL: serveBoth(t, h) + "/wrong"}).Calibrate(context.Background(), transport.NewClock())
			var u *target.UnreachableError
			if !errors.As(err, &u) || !strings.Contains(u.Mend, "/PREFIX") || !strings.Contains(u.Reason, "/wrong/process.Process/Start") {
				t.Errorf("err = %v; want the called path, and the advice to add a prefix", err)
			}
			for _, hidden := range []string{"List", "Connect"} { // a target with a Start is a gateway
				url := serveBoth(t, without((&gateway{}).handler(), refuse, hidden))
				if _, err := newTarget(t, target.Options{URL: url}).Calibrate(context.Background(), transport.NewClock()); err != nil {
					t.Errorf("without %s: %v", hidden, err)
				}
			}
		})
	}
}

// A target that refuses the command or the user has a Start.
func TestGatewayThatRefusesEveryCommandIsOne(t *testing.T) {
	for _, code := range []string{"not_found", "invalid_argument", "internal"} {
		h := without((&gateway{}).handler(), func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/Start") {
				inWords(w, 400, code, "no such user")
				return
			}
			inWords(w, 404, "not_found", "route "+r.URL.Path)
		}, "Start", "List")
		if _, err := newTarget(t, target.Options{URL: serveHTTP(t, h)}).Calibrate(context.Background(), transport.NewClock()); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
}
