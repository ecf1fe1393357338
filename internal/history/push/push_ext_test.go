package push_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"

	"assay/internal/history"
	"assay/internal/history/push"
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
