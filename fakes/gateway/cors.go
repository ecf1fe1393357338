package gateway

import "net/http"

// preflightAge is how long a browser may cache a preflight response, in
// seconds: the maximum that browsers allow.
const preflightAge = "7200"

// exposedHeaders are the headers that a page of another origin may read:
// gRPC-Web puts its status there when the response has no body.
const exposedHeaders = "Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"

// cors answers the requests of pages of an allowed origin, as the real daemon does.
// A preflight carries no token and runs nothing, so it succeeds for every path.
func cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if !isPreflight(r) {
			h.Set("Access-Control-Expose-Headers", exposedHeaders)
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		if fields := r.Header.Get("Access-Control-Request-Headers"); fields != "" {
			h.Set("Access-Control-Allow-Headers", fields)
		}
		h.Set("Access-Control-Max-Age", preflightAge)
		h.Add("Vary", "Access-Control-Request-Method")
		h.Add("Vary", "Access-Control-Request-Headers")
		w.WriteHeader(http.StatusNoContent)
	})
}

// isPreflight reports whether a request is a CORS preflight.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}
