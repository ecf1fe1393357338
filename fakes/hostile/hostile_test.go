package hostile_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/fakes/hostile"
	"assay/internal/testkit"
	"assay/internal/wire"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Only what is legal, mild, or beside the streams lets a command run as if nothing were
// wrong; and a client that gives up leaves nothing behind.
func TestEveryModeMisbehavesAndEnds(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, m := range hostile.Modes() {
		if ids[m.ID] {
			t.Errorf("two modes are called %s", m.ID)
		}
		ids[m.ID] = true
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			s, err := m.Start(context.WithoutCancel(t.Context()), false)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if m.Secure != strings.HasPrefix(s.URL, "https://") {
				t.Errorf("Secure is %v, and the URL %s", m.Secure, s.URL)
			}
			harmless := m.Legal || m.Mild || m.Scope == hostile.Unary || m.Scope == hostile.Metrics || m.Scope == hostile.OverHTTP2 || m.Scope == hostile.Sockets
			if got := runs(t, s.URL, patience(harmless)); got != harmless {
				t.Errorf("the command ran as it should: %v; want %v", got, harmless)
			}
		})
	}
}

// A late mode leaves the probes alone, and nothing else.
func TestALateModeSparesTheProbes(t *testing.T) {
	t.Parallel()
	s := late(t, "all-stall")
	if !runs(t, s.URL, patience(true), "User-Agent: assay/1 (probe; r)") || runs(t, s.URL, patience(false), "User-Agent: assay/1 (process.exit.codes; r)") {
		t.Error("want a right response to the probe, and none to the scenario")
	}
}

// The attack comes on the stream of the request, over HTTP/2 only.
func TestALateAttackComesOnTheStreamOfTheRequest(t *testing.T) {
	t.Parallel()
	s := late(t, "h2-late-rst-internal")
	c := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
	c.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	defer c.CloseIdleConnections()
	ask := func(agent string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/process.Process/List", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", agent)
		return c.Do(r)
	}
	res, err := ask("assay/1 (probe; r)")
	if err != nil || res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Fatalf("the probe: %v, %+v", err, res)
	}
	_ = res.Body.Close()
	res, err = ask("assay/1 (process.list.running; r)")
	if err == nil {
		_ = res.Body.Close()
		t.Fatalf("the scenario: %s", res.Status)
	}
	if !strings.Contains(err.Error(), "INTERNAL_ERROR") {
		t.Errorf("the scenario: %v", err)
	}
}

// late starts a mode that leaves the probes alone.
func late(t *testing.T, id string) *hostile.Server {
	t.Helper()
	m, err := hostile.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Start(context.WithoutCancel(t.Context()), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// patience is long for a response that comes, and short for one that may never end.
func patience(comes bool) time.Duration {
	if comes {
		return testkit.Limit
	}
	return 300 * time.Millisecond
}

// runs reports whether a command runs and its stream ends without an error.
func runs(t *testing.T, url string, patience time.Duration, header ...string) bool {
	t.Helper()
	addr := url[strings.LastIndex(url, "/")+1:]
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false // reset before the connection was complete
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	body := string(wire.AppendEnvelope(nil, 0, []byte(`{"process":{"cmd":"/bin/sh","args":["-c","echo as it should"]}}`)))
	head := append([]string{"POST /process.Process/Start HTTP/1.1", "Host: " + addr, "Content-Type: application/connect+json",
		"Connect-Protocol-Version: 1"}, header...)
	request, _ := http.NewRequest(http.MethodPost, url, nil)
	_, _ = io.WriteString(c, strings.Join(head, "\r\n")+"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	response, err := http.ReadResponse(bufio.NewReader(c), request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	got, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return err == nil && response.StatusCode == http.StatusOK && response.Header.Get("Content-Encoding") == "" &&
		strings.Contains(string(got), base64.StdEncoding.EncodeToString([]byte("as it should\n"))) && strings.HasSuffix(string(got), "{}")
}
