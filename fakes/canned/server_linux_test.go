package canned

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func serveFile(t *testing.T, text string) *Server {
	t.Helper()
	f, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start("127.0.0.1:0", f, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("the loop failed: %v", err)
		}
	})
	return s
}

func clientOf(t *testing.T, h2 bool) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 32}
	tr.Protocols.SetHTTP1(!h2)
	tr.Protocols.SetUnencryptedHTTP2(h2)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

func body(t *testing.T, resp *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// net/http reads many streams at once and on time, and the counters are exact
// afterwards.
func TestNetHTTPReadsTheStreams(t *testing.T) {
	const interval = 20 * time.Millisecond
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			s := serveFile(t, "{interval: 20ms, events: [{lines: 1, times: 3}]}")
			c := clientOf(t, h2)
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					begin := time.Now()
					resp, err := c.Post(s.URL()+"/commands", "application/json", strings.NewReader(`{"cmd":"x"}`))
					text := body(t, resp, err)
					if !strings.Contains(text, `"data":"3\n"`) || !strings.HasSuffix(text, "{\"type\":\"end\",\"exit_code\":0}\n") {
						t.Errorf("got %q", text)
					}
					if took := time.Since(begin); took < 3*interval {
						t.Errorf("three intervals of %v took %v", interval, took)
					}
				})
			}
			all.Wait()
			resp, err := c.Get(s.URL() + "/metrics")
			if text := body(t, resp, err); !strings.Contains(text, "started_total 30\n") || !strings.Contains(text, "active 0\n") || !strings.Contains(text, "{status=\"ok\"} 30\n") {
				t.Errorf("counters:\n%s", text)
			}
		})
	}
}

func TestOtherPathsAreAnswered(t *testing.T) {
	s := serveFile(t, twoLines)
	c := clientOf(t, false)
	for path, want := range map[string]int{"/health": 200, "/commands": 200, "/metrics": 200, "/nowhere": 404} {
		resp, err := c.Get(s.URL() + path)
		if body(t, resp, err); resp == nil || resp.StatusCode != want {
			t.Errorf("%s: %v, want %d", path, resp, want)
		}
	}
	resp, err := c.Post(s.URL()+startPath, "text/plain", nil)
	if body(t, resp, err); resp == nil || resp.StatusCode != 415 {
		t.Errorf("an unknown content type: %v", resp)
	}
}

// A client that disconnects in the middle ends its process.
func TestTheCountersKnowOfAClientThatHasGone(t *testing.T) {
	s := serveFile(t, ticks)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, start("{}"))
	if _, err := conn.Read(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	c := clientOf(t, false)
	for deadline := time.Now().Add(30 * time.Second); ; {
		resp, err := c.Get(s.URL() + "/metrics")
		text := body(t, resp, err)
		if strings.Contains(text, "{status=\"killed\"} 1\n") && strings.Contains(text, "active 0\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s:\n%s", text)
		}
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	s := serveFile(t, twoLines)
	f, err := Load("w1")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Start(strings.TrimPrefix(s.URL(), "http://"), f, ""); err == nil {
		t.Errorf("a second server runs on the same address: %v", other.Close())
	}
}
