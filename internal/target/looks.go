package target

import (
	"encoding/json"
	"slices"
	"sync"

	"assay/internal/record/bundle"
)

// sight collects observations of probes that identify a gateway.
type sight struct {
	mu          sync.Mutex
	envdHealth  bool // 204 without a content type, with no-store
	envdMetrics bool // JSON about the machine
}

// health examines the response of the health check. The daemon sends Cache-Control:
// no-store, an empty Content-Type and Vary: Origin; a proxy may remove one of them.
func (v *sight) health(s bundle.Exchange) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.Outcome != bundle.OutcomeComplete || s.Response.Status != 204 || !slices.Contains(s.Response.Get("Cache-Control"), "no-store") {
		return
	}
	v.envdHealth = slices.Equal(s.Response.Get("Content-Type"), []string{""}) || slices.Contains(s.Response.Get("Vary"), "Origin")
}

// metrics examines the response of /metrics. The daemon sends one JSON object.
func (v *sight) metrics(s bundle.Exchange, body []byte) {
	var figures map[string]any
	isJSON := succeeded(s) && json.Unmarshal(body, &figures) == nil
	v.mu.Lock()
	defer v.mu.Unlock()
	_, counts := figures["cpu_count"]
	_, uses := figures["cpu_used_pct"]
	v.envdMetrics = isJSON && counts && uses
}

// looks returns the profile of the identified gateway, or "".
func (v *sight) looks() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.envdHealth && v.envdMetrics {
		return bundle.LooksEnvd
	}
	return ""
}
