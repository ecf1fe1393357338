package inject

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/internal/load/soak/client"
	"assay/internal/target"
)

// What could not be measured is no finding.
func TestWhatCouldNotBeMeasuredIsSaid(t *testing.T) {
	dead, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c := client.New(dead, "run")
	defer c.Close()
	for want, p := range map[string]*probe{"the commands before the fault failed": {client: c}, "the window ended first": {client: c, usual: 1}} {
		if ms, why := p.recovered(ctx); ms != nil || !strings.Contains(why, want) {
			t.Errorf("%v, %q, want %q", ms, why, want)
		}
	}
}

// A probe that gets more than it asked for ends at once, and does not keep what comes until its limit of time.
func TestAProbeDoesNotKeepAFlood(t *testing.T) {
	t.Parallel()
	flood := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 1<<20))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/connect+json")
		text := `{"event":{"start":{"pid":7}}}`
		for r.Context().Err() == nil {
			_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text)))) //nolint:gosec // a MB
			_, _ = w.Write([]byte(text))
			text = fmt.Sprintf(`{"event":{"data":{"stdout":%q}}}`, flood)
		}
	}))
	defer s.Close()
	at, err := target.New(target.Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(at, "run")
	defer c.Close()
	begun := time.Now()
	if _, ok := (&probe{client: c}).once(); ok || time.Since(begun) > 4*time.Second {
		t.Errorf("%v after %v, want false at once", ok, time.Since(begun))
	}
}
