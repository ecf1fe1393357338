package gateway

import "net/http"

// health responds 204: the gateway is up. It needs no token, because its
// clients are load balancers.
func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
