package controlplane

import (
	"crypto/subtle"
	"net/http"
	"regexp"
	"strings"
)

// isAPI reports whether a path belongs to the API.
func isAPI(path string) bool {
	if version, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/"); ok && (version == "v2" || version == "v3") {
		path = "/" + rest
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "sandboxes", "snapshots", "templates", "volumes":
		return true
	default:
		return false
	}
}

// authorized checks the key.
func (p *Plane) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-API-Key")
		if p.o.APIKey != "" && subtle.ConstantTimeCompare([]byte(key), []byte(p.o.APIKey)) != 1 {
			writeError(w, failure(http.StatusUnauthorized, "X-API-Key is missing or wrong"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// handler serves one route; the errors that it returns become responses.
type handler func(w http.ResponseWriter, r *http.Request) error

// routes returns the handler of the API.
func (p *Plane) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, verbs := range map[string]map[string]handler{
		"/sandboxes":                 {"POST": p.create, "GET": p.listRunning},
		"/v2/sandboxes":              {"POST": p.createSecure, "GET": p.list},
		"/sandboxes/metrics":         {"GET": p.metricsOfMany},
		"/sandboxes/{id}":            {"GET": p.get, "DELETE": p.kill},
		"/sandboxes/{id}/timeout":    {"POST": p.setTimeout},
		"/sandboxes/{id}/refreshes":  {"POST": p.refresh},
		"/sandboxes/{id}/connect":    {"POST": p.connect},
		"/v2/sandboxes/{id}/connect": {"POST": p.connectV2},
		"/sandboxes/{id}/resume":     {"POST": p.resume},
		"/sandboxes/{id}/pause":      {"POST": p.pause},
		"/sandboxes/{id}/metrics":    {"GET": p.metrics},
		"/sandboxes/{id}/logs":       {"GET": p.logs},
		"/v2/sandboxes/{id}/logs":    {"GET": p.logsV2},
		"/templates/aliases/{alias}": {"GET": p.alias},
		"/sandboxes/{id}/snapshots":  {"POST": absent},
		"/sandboxes/{id}/fork":       {"POST": absent},
		"/sandboxes/{id}/network":    {"PUT": absent},
		"/snapshots":                 {"GET": absent},
		"/templates/":                {"GET": absent, "POST": absent, "PATCH": absent, "DELETE": absent},
		"/templates":                 {"GET": absent, "POST": absent},
		"/v2/templates/":             {"GET": absent, "POST": absent, "PATCH": absent},
		"/v2/templates":              {"GET": absent, "POST": absent},
		"/v3/templates":              {"POST": absent},
		"/volumes":                   {"GET": absent, "POST": absent},
		"/volumes/":                  {"GET": absent, "POST": absent, "PATCH": absent, "DELETE": absent},
		"/v3/templates/":             {"GET": absent, "POST": absent},
	} {
		mux.Handle(pattern, dispatch(verbs))
	}
	mux.Handle("/", http.HandlerFunc(notServed))
	return mux
}

// dispatch serves a route by its verb.
func dispatch(verbs map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve, ok := verbs[r.Method]
		if !ok {
			writeError(w, failure(http.StatusMethodNotAllowed, "%s is not served here", r.Method))
			return
		}
		if err := serve(w, r); err != nil {
			writeError(w, err)
		}
	})
}

// absent refuses what this control plane does not have.
func absent(_ http.ResponseWriter, r *http.Request) error {
	return failure(http.StatusNotImplemented, "%s %s is not implemented: this control plane has sandboxes without snapshots, template builds, volumes, forks and network rules",
		r.Method, r.URL.Path)
}

// idForm is the form of an id; the id of a client may follow it.
var idForm = regexp.MustCompile(`^([a-z0-9]+)(-[a-z0-9]+)?$`)

// idOf returns the sandbox that a path names.
func idOf(r *http.Request) (string, error) {
	text := r.PathValue("id")
	parts := idForm.FindStringSubmatch(text)
	if parts == nil {
		return "", failure(http.StatusBadRequest, "sandbox id %q: want lower-case letters and digits", text)
	}
	return parts[1], nil
}
