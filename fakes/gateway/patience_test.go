package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/process"
)

// slowBody sends a byte whenever it is told to, and ends with the channel.
type slowBody chan byte

func (b slowBody) Read(p []byte) (int, error) {
	c, ok := <-b
	if !ok {
		return 0, io.EOF
	}
	p[0] = c
	return 1, nil
}

func TestABodyThatStopsEndsItsRequest(t *testing.T) {
	for _, version := range []string{"1.1", "2"} {
		t.Run(version, func(t *testing.T) {
			h := newImpatient(nil, envd.File_process_process_proto.Services().ByName("Process"))
			ended := make(chan error, 1)
			h.next = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				ended <- err
			})
			h.idle = 100 * time.Millisecond
			s := httptest.NewUnstartedServer(h)
			s.EnableHTTP2 = version == "2"
			s.StartTLS()
			defer s.Close()
			body := make(slowBody)
			go func() {
				res, err := s.Client().Post(s.URL, "application/json", body)
				if err == nil {
					res.Body.Close()
				}
			}()
			body <- '{'
			select {
			case err := <-ended:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want a timeout", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("the request did not end")
			}
			close(body)
		})
	}
}

func TestAStreamOfMessagesMayPause(t *testing.T) {
	h := newImpatient(nil, envd.File_process_process_proto.Services().ByName("Process"))
	if !h.streams["/process.Process/StreamInput"] || h.streams["/process.Process/Start"] || len(h.streams) != 1 {
		t.Errorf("the bodies of %v are streams", h.streams)
	}
}

func TestARequestMayIgnoreABodyThatDoesNotCome(t *testing.T) {
	g := startGateway(t, Options{})
	c := gatewaytest.Dial(t, g)
	if _, err := fmt.Fprint(c, "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if a := c.Answer("GET"); a.Status/100 != 2 {
		t.Errorf("%d", a.Status)
	}
	if rest, err := io.ReadAll(c); err != nil || strings.Contains(string(rest), "HTTP/") {
		t.Errorf("the connection did not end: %q, %v", rest, err)
	}
}
