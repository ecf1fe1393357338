package suites

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"assay/fakes/gateway"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// holding is a correct gateway that does not answer some requests of one scenario.
func holding(t *testing.T, scenario string, requests int64) string {
	t.Helper()
	g, err := gateway.Start(context.WithoutCancel(t.Context()), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(g.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	var held atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.UserAgent(), "("+scenario+";") && held.Add(1) <= requests {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.Close(); _ = g.Close() })
	return s.URL
}

// What did not come once blames nobody unless it does not come alone either; the bundle has both looks.
func TestWhatDidNotComeIsConfirmedAlone(t *testing.T) {
	t.Parallel()
	const scenario = "process.exit.codes"
	for name, tt := range map[string]struct {
		requests int64
		want     bundle.Conclusion
		exit     int
		message  string
	}{
		"once":   {1, bundle.Inconclusive, 5, "seen once, and not again in 5 attempts alone: "},
		"always": {1 << 20, bundle.Fail, 1, "; it was the same alone, with nothing beside it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			out, err := Run(t.Context(), Options{
				Target: target.Options{URL: holding(t, scenario, tt.requests)}, Version: "test", Out: dir,
				Select: scenario + ",axis:connect/json/1.1/identity",
			})
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			for _, v := range out.Verdicts {
				if v.Rule != "process.end.exit-code" {
					continue
				}
				seen = true
				if v.Conclusion != tt.want || !strings.Contains(v.Message, tt.message) {
					t.Errorf("%s: %s, want %s with %q", v.Conclusion, v.Message, tt.want, tt.message)
				}
			}
			if !seen || out.Report.Exit != tt.exit {
				t.Errorf("exit code %d, want %d; verdicts %+v", out.Report.Exit, tt.exit, out.Verdicts)
			}
			checkStored(t, dir, out)
		})
	}
}
