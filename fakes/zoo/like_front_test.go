package zoo

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/process"
	"assay/internal/testkit"
)

func TestACatchAllHasOneAnswer(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"catch-all-json": "application/json {}", "catch-all-page": "text/html; charset=utf-8 " + page} {
		g := startGateway(t, Options{Like: id})
		for path, method := range map[string]string{"/": "GET", gatewaytest.StartPath: "POST", "/health": "GET", "/attach": "GET", "/no/such": "DELETE"} {
			a := gatewaytest.RoundTrip(t, g, method, path, nil)
			if got := a.Header.Get("Content-Type") + " " + string(a.Body); a.Status != http.StatusOK || got != want {
				t.Errorf("%s: %s %s: %d %s", id, method, path, a.Status, got)
			}
		}
	}
}

func TestAPageIsTheAnswerToWhatIsUnknown(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "page-beside"})
	for _, path := range []string{"/", "/attach", "/commands", "/process.process/list", "/process.Process/NoSuchMethod"} {
		if a := gatewaytest.RoundTrip(t, g, "POST", path, []byte("{}"), gatewaytest.UnaryJSON); a.Status != http.StatusOK || string(a.Body) != page {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON); a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("List: %v %s", a.Header, a.Body)
	}
}

func TestADelayedGatewayAnswersLate(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]time.Duration{"answers-after-20s": 20 * time.Second, "answers-after-300ms": 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			c, _, done := boxed(t, Options{Like: id})
			began := time.Now()
			_, err := c.List(t.Context(), connect.NewRequest(&envd.ListRequest{}))
			if took := time.Since(began); err != nil || took != want {
				t.Errorf("%s: after %v: %v", id, took, err)
			}
			go func() { _, _ = c.List(t.Context(), connect.NewRequest(&envd.ListRequest{})) }()
			synctest.Wait()
			done()
			if took := time.Since(began); took != want {
				t.Errorf("%s: it closes only after %v", id, took-want)
			}
		})
	}
}

func TestALimitedGatewayRefusesWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	for id, limit := range map[string]int{"limit-5": 5, "limit-25": 25} {
		synctest.Test(t, func(t *testing.T) {
			c, _, done := boxed(t, Options{Like: id})
			defer done()
			for second := range 3 {
				answered := 0
				for range 2 * limit {
					_, err := c.List(t.Context(), connect.NewRequest(&envd.ListRequest{}))
					if err == nil {
						answered++
						continue
					}
					gatewaytest.WantCode(t, "a request too many", err, connect.CodeUnavailable)
				}
				if answered != limit {
					t.Errorf("%s: %d requests were answered in second %d", id, answered, second)
				}
				testkit.Advance(time.Second)
			}
		})
	}
}

func TestAProxyLosesOneRequestInForty(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "proxy-502", Seed: 7})
	lost := 0
	for range 2 * lostRequests {
		a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON)
		switch {
		case a.Status == http.StatusOK:
		case a.Status == http.StatusBadGateway && a.Header.Get("Content-Type") == "text/html":
			lost++
		default:
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if lost != 2 {
		t.Errorf("%d of %d requests were lost", lost, 2*lostRequests)
	}
}

func TestAMuteSocketSaysNothingAfterItsUpgrade(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "mute-stdio"})
	if res := attach(t, g, script("true"), "Sec-WebSocket-Version: 8").res; res.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a bad handshake: %d", res.StatusCode)
	}
	c := attach(t, g, script("echo x"))
	if c.res.StatusCode != http.StatusSwitchingProtocols || c.res.Header.Get("Sec-WebSocket-Accept") != theKey {
		t.Errorf("a handshake: %d %v", c.res.StatusCode, c.res.Header)
	}
	c.send(ping("are you there") + closing(1000))
	client := gatewaytest.Client(t, g)
	testkit.Eventually(t, func() error {
		if n := len(listed(t, client)); n > 0 {
			return fmt.Errorf("%d processes are left", n)
		}
		return nil
	})
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if heard, err := io.ReadAll(c.R); len(heard) > 0 {
		t.Errorf("%q, %v", heard, err)
	}
}

func TestADeafListenerOpensConnectionsAndReadsNone(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "never-accepts"})
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if heard, err := io.ReadAll(c); len(heard) > 0 {
		t.Errorf("%q, %v", heard, err)
	}
}
