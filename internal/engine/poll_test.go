package engine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newStates returns a server that answers the n-th request for /x, from 1, with the status of that number.
func newStates(t *testing.T, status func(n int64) int) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	mux := http.NewServeMux()
	mux.HandleFunc("/x", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status(asked.Add(1))) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestAPollEndsAtTheExpectedResponseAndRecordsOneMore(t *testing.T) {
	t.Parallel()
	const gone = 3 // from this request on
	for name, tc := range map[string]struct {
		back int64 // the request at which the state is back
		want int
	}{
		"the state stays":   {1 << 40, 404},
		"the state is back": {gone + 1, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked := newStates(t, func(n int64) int {
				if n >= gone && n < tc.back {
					return 404
				}
				return 200
			})
			o := newBench(t, url).patient().run("steps: [{send: {as: got, path: /x, poll: 1m}}]\nexpect: {got: {status: 404}}")
			it := &o.Iterations[0]
			if len(it.Exchanges) != 1 || len(it.Conns) != 1 || len(it.Awaits) != 0 || it.Exchanges[0].Response.Status != tc.want {
				t.Errorf("want one exchange with the status %d, got %+v, awaits %+v", tc.want, it.Exchanges, it.Awaits)
			}
			if n := asked.Load(); n != gone+1 {
				t.Errorf("%d requests, want %d", n, gone+1)
			}
		})
	}
}

func TestTheRequestBehindAPollInVainBeginsAfterTheDeadline(t *testing.T) {
	t.Parallel()
	url, asked := newStates(t, func(int64) int { return 200 })
	o := newBench(t, url).run("deadline: 1h\nsteps: [{send: {as: got, path: /x, poll: 40ms}}]\nexpect: {got: {status: 404}}")
	it := &o.Iterations[0]
	x := it.Exchange("got")
	if x == nil || x.Response.Status != 200 || x.Invoked.T-it.Started.T < int64(40*time.Millisecond) {
		t.Errorf("started %+v, got %+v", it.Started, x)
	}
	if n := asked.Load(); n < 2 {
		t.Errorf("%d requests, want the poll's as well", n)
	}
}

func TestAPollComparesWithTheValueOfAnEarlierResponse(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := "new"
		if r.URL.Path == "/x" && asked.Add(1) == 1 {
			id = "old"
		}
		_, _ = io.WriteString(w, `{"id":"`+id+`"}`)
	}))
	t.Cleanup(server.Close)
	newBench(t, server.URL).patient().run("steps: [{send: {as: made, path: /made}}, {send: {as: got, path: /x, poll: 1m}}]\n" +
		"expect: {got: {body: {json: {id: '${made.json.id}'}}}}")
	if n := asked.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// The process ends after the first list has shown it.
func TestAPollOfListWaitsForAProcess(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gw.Config.Handler.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/List") {
			gw.end(101, 0, "")
		}
	}))
	t.Cleanup(server.Close)
	o := newBench(t, server.URL).patient().run("steps: [{start: {as: p, sh: sleep}}, {list: {as: l, poll: 1m}}]\nexpect: {l: {not-lists: p}}")
	l := o.Iterations[0].Exchange("l")
	if l == nil || string(l.Body.Data) != `{"processes":[]}` {
		t.Errorf("got %+v", l)
	}
}

func TestTheIterationsDeadlineCutsAPoll(t *testing.T) {
	t.Parallel()
	url, _ := newStates(t, func(int64) int { return 200 })
	o := newBench(t, url).run("deadline: 50ms\nsteps: [{send: {as: got, path: /x, poll: 1h}}]\nexpect: {got: {status: 404}}")
	it := &o.Iterations[0]
	if a := it.Awaits; len(a) != 1 || a[0].Step != "steps[0]" || a[0].Met || it.Exchange("got") != nil {
		t.Errorf("awaits %+v, got %+v", a, it.Exchange("got"))
	}
}
