package gateway

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"time"

	"assay/fakes/strict"
)

// MachineMetrics is the daemon's /metrics, with the figures of an idle machine.
func MachineMetrics(w http.ResponseWriter, _ *http.Request) {
	const gib = 1 << 30
	w.Header().Set("Content-Type", "application/json")
	// A failed write means that the client has gone.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"ts": time.Now().Unix(), "cpu_count": runtime.NumCPU(), "cpu_used_pct": 0,
		"mem_total_mib": 1024, "mem_used_mib": 128, "mem_total": gib, "mem_used": gib / 8, "mem_cache": gib / 16,
		"disk_used": gib, "disk_total": 10 * gib,
	})
}

// orMachine serves the figures of the machine to clients that prefer JSON, which
// the SDK of the daemon asks for, and the exposition to all others.
func orMachine(exposition http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if prefersJSON(strings.Join(r.Header["Accept"], ",")) {
			MachineMetrics(w, r)
			return
		}
		exposition.ServeHTTP(w, r)
	})
}

// prefersJSON reports whether Accept values application/json above the types of an
// exposition.
func prefersJSON(accept string) bool {
	var machine, text float64
	for item := range strings.SplitSeq(accept, ",") {
		switch kind, q := strict.Quality(item); kind {
		case "application/json":
			machine = max(machine, q)
		case "text/plain", "text/*", "application/openmetrics-text", "application/vnd.google.protobuf":
			text = max(text, q)
		}
	}
	return machine > text
}
