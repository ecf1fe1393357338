package fakes

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"assay/fakes/strict"
	"assay/internal/envd/process/processconnect"
)

// refusePreface answers the preface of HTTP/2 like any other verb.
func refusePreface(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PRI" {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// envdHealth is the daemon's health check.
func envdHealth(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if _, err := (authorizer{}).asUser(r); err != nil {
			strict.WriteError(w, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "")
		w.WriteHeader(http.StatusNoContent)
	})
}

// machineMetrics is the daemon's /metrics, with the figures of an idle machine.
func machineMetrics(w http.ResponseWriter, _ *http.Request) error {
	const gib = 1 << 30
	return writeJSON(w, map[string]any{
		"ts": time.Now().Unix(), "cpu_count": runtime.NumCPU(), "cpu_used_pct": 0,
		"mem_total_mib": 1024, "mem_used_mib": 128, "mem_total": gib, "mem_used": gib / 8, "mem_cache": gib / 16,
		"disk_used": gib, "disk_total": 10 * gib,
	})
}

// numberedTokenError checks the token before anything else, and refuses in a
// form of its own.
func numberedTokenError(token string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got := r.Header.Get("X-Access-Token")
			if token == "" || r.URL.Path == "/health" || isPreflight(r) || subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1 {
				next.ServeHTTP(w, r)
				return
			}
			strict.LimitRest(w)
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			// Whoever is gone cannot be told.
			_ = json.NewEncoder(w).Encode(map[string]any{
				"code":    http.StatusUnauthorized,
				"message": "unauthorized access, please provide a valid access token or method signing if supported",
			})
		})
	}
}

// crashOnKeepalive ends the whole gateway at an interval that no ticker takes,
// once the stream has begun.
func (s *seams) crashOnKeepalive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimSpace(r.Header.Get("Keepalive-Ping-Interval")))
		starts := r.URL.Path == processconnect.ProcessStartProcedure || r.URL.Path == processconnect.ProcessConnectProcedure
		if err == nil && n <= 0 && starts && r.Method == http.MethodPost {
			s.crash()
		}
		next.ServeHTTP(w, r)
	})
}
