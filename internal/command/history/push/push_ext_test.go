package push_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"

	"assay/internal/command/history"
	"assay/internal/command/history/push"
)

// receiver keeps what it was sent.
type receiver struct {
	got    *writev2.Request
	tokens []string
}

func (r *receiver) Store(req *http.Request, _ remote.WriteMessageType) (*remote.WriteResponse, error) {
	r.tokens = append(r.tokens, req.Header.Get("Authorization"))
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.got = &writev2.Request{}
	w := remote.NewWriteResponse()
	if err := r.got.UnmarshalVT(body); err != nil {
		return w, err
	}
	n := 0
	for _, s := range r.got.Timeseries {
		n += len(s.Samples)
	}
	w.Add(remote.WriteResponseStats{Samples: n})
	return w, nil
}

func runs() []history.Run {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	return []history.Run{
		{Kind: "load", Target: "http://127.0.0.1:1", Profile: "connect", Verdict: "pass", Started: at.Add(time.Hour), Values: map[string]float64{"first_event.p50": 1500, "streams_failed": 0}},
		{Kind: "load", Target: "http://127.0.0.1:1", Profile: "connect", Verdict: "fail", Started: at, Values: map[string]float64{"first_event.p50": 1200, "streams_failed": 3}},
		{Kind: "conform", Target: "http://127.0.0.1:1", Profile: "full", Verdict: "conformant", Started: at, Rules: map[string]string{"a": "pass", "b": "pass", "c": "fail"}},
	}
}

func TestFiguresAreSent(t *testing.T) {
	store := &receiver{}
	s := httptest.NewServer(remote.NewWriteHandler(store, remote.MessageTypes{remote.WriteV2MessageType}, remote.WithWriteHandlerLogger(slog.New(slog.DiscardHandler)),
		remote.WithWriteHandlerMiddlewares(remote.SnappyDecodeMiddleware(slog.New(slog.DiscardHandler)))))
	defer s.Close()
	n, err := push.Send(t.Context(), push.Options{URL: s.URL + "/api/v1/write", Token: "secret-token", Limit: 10 * time.Second}, runs())
	if err != nil || store.got == nil {
		t.Fatalf("%d samples, %v", n, err)
	}
	if n != 9 || store.tokens[0] != "Bearer secret-token" {
		t.Errorf("%d samples, tokens %v", n, store.tokens)
	}
	all := strings.Join(store.got.Symbols, " ")
	for _, want := range append(push.Names(), "first_event", "0.5", "http://127.0.0.1:1") {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	for _, one := range store.got.Timeseries {
		for i := 1; i < len(one.Samples); i++ {
			if one.Samples[i].Timestamp <= one.Samples[i-1].Timestamp {
				t.Errorf("samples out of order: %v", one.Samples)
			}
		}
	}
}

func TestAServerThatRefusesIsNamed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	defer s.Close()
	if _, err := push.Send(context.Background(), push.Options{URL: s.URL + "/w", Limit: 10 * time.Second}, runs()); err == nil || !strings.Contains(err.Error(), "remote write to 127.0.0.1") {
		t.Errorf("error %v", err)
	}
	for _, url := range []string{"", "ftp://x", "http://u:p@127.0.0.1/", "127.0.0.1:9090"} {
		if _, err := push.Send(context.Background(), push.Options{URL: url, Limit: time.Second}, runs()); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
}

// A redirect would hand the token and the figures to another server.
func TestARedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := httptest.NewServer(http.RedirectHandler(other.URL, status))
		n, err := push.Send(t.Context(), push.Options{URL: s.URL + "/w", Token: "secret-token", Limit: 10 * time.Second}, runs())
		s.Close()
		if err == nil || !strings.Contains(err.Error(), "does not follow redirects") || n != 0 {
			t.Errorf("%d: %d samples, %v", status, n, err)
		}
	}
	if followed.Load() {
		t.Error("the redirect was followed")
	}
}

// The client keeps the whole response for its message, so a server must not choose its length.
func TestAnEndlessResponseIsCut(t *testing.T) {
	for name, compressed := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				to := io.Writer(w)
				if compressed {
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					defer func() { _ = z.Close() }()
					to = z
				}
				w.WriteHeader(http.StatusBadRequest)
				text := []byte(strings.Repeat("no ", 10_000))
				for i := 0; i < 2000 && r.Context().Err() == nil; i++ { // 60 MB
					if _, err := to.Write(text); err != nil {
						return
					}
				}
			}))
			defer s.Close()
			_, err := push.Send(t.Context(), push.Options{URL: s.URL + "/w", Limit: 20 * time.Second}, runs())
			if err == nil || !strings.Contains(err.Error(), "400") || len(err.Error()) > 8<<10 {
				t.Errorf("an error of %d bytes: %.200v", len(fmt.Sprint(err)), err)
			}
		})
	}
}

// A response that stops in the middle ends with the caller, as at SIGTERM.
func TestAStalledResponseEndsWithItsContext(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := push.Send(ctx, push.Options{URL: s.URL + "/w", Limit: time.Minute}, runs()); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("error %v after %s", err, time.Since(began))
	}
}
