package service

import (
	"encoding/json"
	"net/http"
	"slices"
)

// Path is that of the handshake, a unary call in the Connect protocol.
const Path = "/.connectplugin.v1.Handshake/Negotiate"

// Bugs lists the bugs that New knows, each with the rule that it breaks.
func Bugs() map[string]string {
	return map[string]string{
		"own-version":       "handshake.version.common",
		"no-common-version": "handshake.version.none",
		"core-ignored":      "handshake.core.unknown",
		"all-plugins":       "handshake.plugin.requested",
		"invented-plugin":   "handshake.plugin.unknown",
		"malformed-500":     "handshake.request.malformed",
		"strict-fields":     "handshake.request.newer",
		"stateful":          "handshake.repeat.same",
	}
}

const coreVersion = 1

// versions are the versions of the application protocol that the host speaks.
var versions = []int{1, 2}

type plugin struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Capabilities []string `json:"capabilities"`
}

var plugins = []plugin{
	{Name: "kv", Version: "1.0", Capabilities: []string{"get", "put"}},
	{Name: "auth", Version: "2.3", Capabilities: []string{"verify"}},
	{Name: "cache", Version: "0.9", Capabilities: []string{"get"}},
}

type request struct {
	Core         int             `json:"core_protocol_version"`
	Versions     []int           `json:"supported_app_versions"`
	Plugins      []string        `json:"requested_plugins"`
	Capabilities map[string]bool `json:"client_capabilities"`
}

type response struct {
	Version      int             `json:"negotiated_app_version"`
	Plugins      []plugin        `json:"available_plugins"`
	Capabilities map[string]bool `json:"server_capabilities"`
}

// New returns the handler of a host with a bug, "" for none. A team is the value that each request
// must have in the header Plugin-Team, "" for no such header.
func New(bug, team string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, host{bug: bug})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if team != "" && r.Header.Get("Plugin-Team") != team {
			refuse(w, http.StatusUnauthorized, "unauthenticated", "name your team in the header Plugin-Team")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type host struct{ bug string }

// connections is the key of a connection's state in the context of its requests.
type connections struct{}

// ServeHTTP serves one handshake.
func (h host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	if h.bug == "strict-fields" {
		in.DisallowUnknownFields()
	}
	if err := in.Decode(&q); err != nil {
		status, code := http.StatusBadRequest, "invalid_argument"
		if h.bug == "malformed-500" {
			status, code = http.StatusInternalServerError, "internal"
		}
		refuse(w, status, code, err.Error())
		return
	}
	if q.Core != coreVersion && h.bug != "core-ignored" {
		refuse(w, http.StatusBadRequest, "failed_precondition", "the host speaks core protocol version 1")
		return
	}
	version := h.negotiate(q.Versions)
	if version == 0 {
		refuse(w, http.StatusBadRequest, "failed_precondition", "the host speaks the versions 1 and 2")
		return
	}
	out := response{Version: version, Plugins: h.choose(q.Plugins), Capabilities: map[string]bool{"bidirectional": true}}
	if h.bug == "stateful" && again(r) {
		out.Plugins = []plugin{}
	}
	answer(w, http.StatusOK, out)
}

// negotiate returns the highest common version, 0 without one.
func (h host) negotiate(offered []int) int {
	newest := slices.Max(versions)
	best := 0
	for _, v := range offered {
		if slices.Contains(versions, v) {
			best = max(best, v)
		}
	}
	switch {
	case h.bug == "own-version" && best != 0, h.bug == "no-common-version" && best == 0:
		return newest
	}
	return best
}

// choose returns the requested plugins of the host, in its own order.
func (h host) choose(requested []string) []plugin {
	chosen := []plugin{}
	for _, p := range plugins {
		if slices.Contains(requested, p.Name) || h.bug == "all-plugins" && len(requested) > 0 {
			chosen = append(chosen, p)
		}
	}
	if h.bug == "invented-plugin" && len(chosen) == 0 {
		for _, name := range requested {
			chosen = append(chosen, plugin{Name: name, Version: "0.0", Capabilities: []string{}})
		}
	}
	return chosen
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]string{"code": code, "message": message})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}
