//go:build linux && !race

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/envd/call"
	"assay/internal/wire"
)

// floods are the responses to Start, after the start event, of a target that fills the memory
// of its client. They do not end.
var floods = map[string]func(w http.ResponseWriter, send func([]byte) bool){
	"gzip bombs as messages": func(_ http.ResponseWriter, send func([]byte) bool) {
		for send(bomb()) {
		}
	},
	"a million starts": func(_ http.ResponseWriter, send func([]byte) bool) {
		starts := []byte(strings.Repeat(string(wire.AppendEnvelope(nil, 0, []byte(startEvent))), 1000))
		for range 1000 {
			if !send(starts) {
				return
			}
		}
	},
	"end events with a long status": func(_ http.ResponseWriter, send func([]byte) bool) {
		end := wire.AppendEnvelope(nil, 0, []byte(`{"event":{"end":{"exitCode":0,"status":"`+strings.Repeat("s", 4<<20)+`"}}}`))
		for send(end) {
		}
	},
	"chunks of one byte": func(w http.ResponseWriter, send func([]byte) bool) {
		for flush := http.NewResponseController(w); send([]byte{0}); {
			_ = flush.Flush()
		}
	},
}

var bomb = sync.OnceValue(func() []byte {
	return wire.AppendEnvelope(nil, wire.FlagCompressed, call.Compress(make([]byte, 256<<20)))
})

const startEvent = `{"event":{"start":{"pid":7}}}`

// flooding is a server that responds to each Start with a flood, and to other calls with {}.
func flooding(t *testing.T, flood func(http.ResponseWriter, func([]byte) bool)) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/Start") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
			return
		}
		w.Header().Set("Content-Type", "application/connect+json")
		w.Header().Set("Connect-Content-Encoding", "gzip")
		send := func(p []byte) bool {
			_, err := w.Write(p)
			return err == nil
		}
		if send(wire.AppendEnvelope(nil, 0, []byte(startEvent))) {
			flood(w, send)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// The memory of the program stays near --memory, whatever a target sends. With --memory 8GB two of these take 200 to 330 MB in
// the same time.
func TestATargetDoesNotFillTheMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long")
	}
	bomb()
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			c, out, stderr := program(t, "conform", flooding(t, flood), "--select", "area:process-exit,area:process-output,!axis:proto",
				"--memory", "135MB", "--jobs", "16", "--budget", "2s", "--reproduce", "0")
			c.Env = append(c.Env, "ASSAY_TIME_SCALE=0.2")
			most, _ := peakOf(t, c)
			if most > 190<<10 {
				t.Errorf("%d MB at most, want 190 MB or less", most>>10)
			}
			if code := c.ProcessState.ExitCode(); code != 1 && code != 5 {
				t.Errorf("exit code %d\n%s\n%s", code, out, stderr)
			}
		})
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakOf runs a program, with the garbage collector as its users have it, and returns its largest resident size in kB.
func peakOf(t *testing.T, c *exec.Cmd) (most int, err error) {
	t.Helper()
	c.Env = append(c.Env, "GOGC=") // the tests may have another
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
			m := peakLine.FindSubmatch(text)
			if err != nil || m == nil {
				tick.Stop()
				return
			}
			most, _ = strconv.Atoi(string(m[1]))
		}
	}()
	err = c.Wait()
	<-watched
	if most == 0 {
		t.Error("its memory was not read")
	}
	return most, err
}
