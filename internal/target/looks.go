package target

import (
	"encoding/json"
	"slices"
	"sync"

	"assay/internal/bundle"
)

// sight is what probes saw by the way that tells one gateway from others.
type sight struct {
	mu          sync.Mutex
	envdHealth  bool // 204 without a type, and not to be stored
	envdMetrics bool // JSON about the machine
}

// health takes the answer of the health check. The daemon's has Cache-Control: no-store,
// an empty Content-Type and Vary: Origin, of which a proxy may have taken one away.
func (v *sight) health(s bundle.Exchange) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.Outcome != bundle.OutcomeComplete || s.Response.Status != 204 || !slices.Contains(s.Response.Get("Cache-Control"), "no-store") {
		return
	}
	v.envdHealth = slices.Equal(s.Response.Get("Content-Type"), []string{""}) || slices.Contains(s.Response.Get("Vary"), "Origin")
}

// metrics takes the answer of /metrics. The daemon's is one JSON object.
func (v *sight) metrics(s bundle.Exchange, body []byte) {
	var figures map[string]any
	isJSON := succeeded(s) && json.Unmarshal(body, &figures) == nil
	v.mu.Lock()
	defer v.mu.Unlock()
	_, counts := figures["cpu_count"]
	_, uses := figures["cpu_used_pct"]
	v.envdMetrics = isJSON && counts && uses
}

// looks is the profile of the gateway that was seen, or "".
func (v *sight) looks() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.envdHealth && v.envdMetrics {
		return bundle.LooksEnvd
	}
	return ""
}
