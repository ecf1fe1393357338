package canned

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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
	return serveWith(t, text, Options{Listen: "127.0.0.1:0"})
}

func serveWith(t *testing.T, text string, o Options) *Server {
	t.Helper()
	f, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(f, o)
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

func clientOf(t *testing.T, s *Server, h2 bool) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 32}
	tr.Protocols.SetHTTP1(!h2)
	if ca := s.CACert(); ca == nil {
		tr.Protocols.SetUnencryptedHTTP2(h2)
	} else {
		tr.Protocols.SetHTTP2(h2)
		tr.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		if !tr.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca) {
			t.Fatalf("no certificate in %q", ca)
		}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: testkit.Limit}
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
	t.Parallel()
	const interval = 20 * time.Millisecond
	for name, of := range map[string]struct{ h2, tls bool }{
		"HTTP/1.1": {}, "HTTP/2": {h2: true}, "HTTP/1.1 over TLS": {tls: true}, "HTTP/2 over TLS": {h2: true, tls: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveWith(t, "{interval: 20ms, events: [{lines: 1, times: 3}]}", Options{Listen: "127.0.0.1:0", TLS: of.tls})
			c := clientOf(t, s, of.h2)
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					begin := time.Now()
					resp, err := c.Post(s.URL()+"/commands", "application/json", strings.NewReader(`{"cmd":"x"}`))
					text := body(t, resp, err)
					if resp != nil && resp.ProtoAtLeast(2, 0) != of.h2 {
						t.Errorf("got %s", resp.Proto)
					}
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
	t.Parallel()
	s := serveFile(t, twoLines)
	c := clientOf(t, s, false)
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
	t.Parallel()
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
	c := clientOf(t, s, false)
	testkit.Eventually(t, func() error {
		resp, err := c.Get(s.URL() + "/metrics")
		text := body(t, resp, err)
		if !strings.Contains(text, "{status=\"killed\"} 1\n") || !strings.Contains(text, "active 0\n") {
			return fmt.Errorf("the counters are:\n%s", text)
		}
		return nil
	})
}

// A response of many records is whole, even if the kernel accepts only parts of it.
func TestALongResponseOverTLSIsWhole(t *testing.T) {
	t.Parallel()
	for _, flush := range []string{"event", "together"} {
		s := serveWith(t, "{flush: "+flush+", interval: 0, events: [{lines: 1, times: 1000}, {size: 1048576, times: 6}]}", Options{Listen: "127.0.0.1:0", TLS: true})
		other := clientOf(t, s, false)
		for _, h2 := range []bool{false, true} {
			c := clientOf(t, s, h2)
			c.Transport.(*http.Transport).DialContext = narrow
			resp, err := c.Post(s.URL()+"/commands", "application/json", strings.NewReader(`{"cmd":"x"}`))
			for range 10 { // meanwhile the kernel gets more than it has room for
				health, err := other.Get(s.URL() + "/health")
				body(t, health, err)
			}
			if text := body(t, resp, err); strings.Count(text, "\n") != 1008 || !strings.Contains(text, `"data":"1000\n"`) || len(text) < 6<<20 {
				t.Errorf("flush %s, HTTP/2 %v: %d lines, %d bytes", flush, h2, strings.Count(text, "\n"), len(text))
			}
		}
	}
}

// narrow dials a connection for which the kernel of the reader has little room.
func narrow(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		err = c.(*net.TCPConn).SetReadBuffer(256 << 10)
	}
	return c, err
}

// Clients that break TLS, give up, or never begin the handshake do not disturb the others, and
// do not keep the server from closing.
func TestClientsThatBreakTLSDisturbNobody(t *testing.T) {
	t.Parallel()
	s := serveWith(t, twoLines, Options{Listen: "127.0.0.1:0", TLS: true})
	address := strings.TrimPrefix(s.URL(), "https://")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	dial() // it never begins
	for _, text := range []string{"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x00\x05hello", "\x16\x03"} {
		conn := dial()
		fmt.Fprint(conn, text)
		if text == "\x16\x03" {
			conn.Close()
			continue
		}
		if got, _ := io.ReadAll(conn); strings.Contains(string(got), "ok") {
			t.Errorf("%q got %q", text, got)
		}
	}
	secured := tls.Client(dial(), &tls.Config{InsecureSkipVerify: true})
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(secured.NetConn(), "garbage behind the handshake")
	if _, err := io.ReadAll(secured); err == nil {
		t.Error("garbage is accepted")
	}
	resp, err := clientOf(t, s, false).Get(s.URL() + "/health")
	if text := body(t, resp, err); text != "ok\n" {
		t.Errorf("a good client gets %q", text)
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	t.Parallel()
	s := serveFile(t, twoLines)
	f, err := Load("w1")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Start(f, Options{Listen: strings.TrimPrefix(s.URL(), "http://")}); err == nil {
		t.Errorf("a second server runs on the same address: %v", other.Close())
	}
}
