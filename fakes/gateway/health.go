package gateway

import "net/http"

// health answers 204: the gateway is up. It needs no token, because its client
// is a load balancer.
func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
