package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/process"
	"assay/internal/testkit"
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
	t.Parallel()
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
			body := make(slowBody, 1)
			body <- '{'
			go func() {
				res, err := s.Client().Post(s.URL, "application/json", body)
				if err == nil {
					res.Body.Close()
				}
			}()
			select {
			case err := <-ended:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want a timeout", err)
				}
			case <-time.After(testkit.Limit):
				t.Error("the request did not end")
			}
			close(body)
		})
	}
}

func TestAStreamOfMessagesMayPause(t *testing.T) {
	t.Parallel()
	h := newImpatient(nil, envd.File_process_process_proto.Services().ByName("Process"))
	if !h.streams["/process.Process/StreamInput"] || h.streams["/process.Process/Start"] || len(h.streams) != 1 {
		t.Errorf("the bodies of %v are streams", h.streams)
	}
}

func TestARequestMayIgnoreABodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
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

// deadlines is a response writer that counts the deadlines that are set.
type deadlines struct {
	*httptest.ResponseRecorder
	set atomic.Int32
}

func (d *deadlines) SetReadDeadline(time.Time) error {
	d.set.Add(1)
	return nil
}

// A timer can fire while its handler returns, and a read can outlive its handler. After it, the response writer is not touched.
func TestNoDeadlineIsSetAfterTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, body := make(chan struct{}), make(slowBody)
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		h := newImpatient(nil)
		h.next = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			go func() {
				<-over
				_, _ = r.Body.Read(make([]byte, 1))
			}()
		})
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", body))
		before := w.set.Load() // of the rest of the body, which the server reads
		close(over)
		testkit.Advance(2 * bodyIdle)
		if n := w.set.Load() - before; n != 0 {
			t.Errorf("%d deadlines were set after the handler had returned", n)
		}
		close(body)
	})
}
