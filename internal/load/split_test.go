//go:build unix

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A worker that fails ends the run. The error has its number and the reason, and the
// processes that it left behind are killed.
func TestAWorkerThatFailsEndsTheRun(t *testing.T) {
	var kills atomic.Int64
	addr := listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			body := "{}"
			if strings.HasSuffix(r.URL.Path, "/List") {
				body = `{"processes":[{"config":{"cmd":"x","envs":{"ASSAY_RUN":"test/load"}},"pid":7},{"config":{"cmd":"x"},"pid":8},{"config":{"cmd":"x","envs":{"ASSAY_RUN":"test/load.1"}},"pid":9}]}`
			} else {
				kills.Add(1)
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	})
	histogram, err := newHistogram().EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := json.Marshal(said{Values: []values{{Class: 1, Histogram: histogram}}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		script string
		want   string
		kills  int64
	}{
		"it dies before it is ready": {"exit 3", " of 2: ", 0},
		"it cannot begin":            {`read job; echo '{"Error":"no target"}'`, "no target", 0},
		"it dies at work":            {"read job; echo '{}'; read go; exit 3", "of 2: EOF", 2},
		"its report is not readable": {"read job; echo '{}'; read go; echo x", "invalid character", 2},
		"it reports a failure":       {`read job; echo '{}'; read go; echo '{"Error":"lost"}'`, "lost", 2},
		"its histograms are broken":  {`read job; echo '{}'; read go; echo '{"Values":[{"Histogram":"eHg="}]}'`, "measured values", 2},
		"its class is unknown":       {`read job; echo '{}'; read go; echo '` + string(foreign) + `'`, "there is no measure 0 of class 1", 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			kills.Store(0)
			e := &split{worker: []string{"/bin/sh", "-c", tt.script}, inside: stub{}, job: jobFor(addr), parts: 2, costs: &costs{}}
			p := testPlan(t, addr)
			err := e.Run(t.Context(), p, newCollector(1).of(p))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
			if n := kills.Load(); n != tt.kills {
				t.Errorf("%d processes were killed, want %d", n, tt.kills)
			}
		})
	}
	none := &split{worker: []string{"/no/such/program"}, inside: stub{}, parts: 1, costs: &costs{}}
	if err := none.Run(t.Context(), testPlan(t, addr), newCollector(1)); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("%v", err)
	}
	if err := none.Run(t.Context(), testPlan(t, addr), nowhere{}); err == nil || none.Name() != "stub" {
		t.Errorf("%v, %s", err, none.Name())
	}
}

// A worker that reports nothing or does not end does not delay an interrupted run.
func TestAWorkerThatHangsEndsWithTheRun(t *testing.T) {
	for name, tt := range map[string]struct {
		script string // it makes a file when it hangs
		fails  bool
	}{
		"before it is ready": {"read job; : >$0/$$; exec sleep 100", false},
		"at work":            {"read job; echo '{}'; read go; : >$0/$$; exec sleep 100", true},
	} {
		t.Run(name, func(t *testing.T) {
			addr, marks := listen(t, func(net.Conn) {}), t.TempDir()
			e := &split{worker: []string{"/bin/sh", "-c", tt.script, marks}, inside: stub{}, job: jobFor(addr), parts: 2, costs: &costs{}}
			p := testPlan(t, addr)
			p.Limits.KillAll, p.Limits.Interrupt = time.Second, time.Second
			ctx, stop := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			watching.Go(func() {
				defer stop()
				awaitFiles(t, filepath.Join(marks, "*"), e.parts)
			})
			defer watching.Wait()
			begun := time.Now()
			if err := e.Run(ctx, p, newCollector(1).of(p)); (err != nil) != tt.fails {
				t.Errorf("%v", err)
			}
			if took := time.Since(begun); took > patience {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// awaitFiles waits until there are n files.
func awaitFiles(t *testing.T, pattern string, n int) {
	for begun := time.Now(); time.Since(begun) < patience/2; time.Sleep(5 * time.Millisecond) { // other processes make them
		if all, _ := filepath.Glob(pattern); len(all) >= n {
			return
		}
	}
	t.Errorf("there are no %d files %s", n, pattern)
}
