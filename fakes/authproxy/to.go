package authproxy

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// To returns a handler that forwards requests to a URL over HTTP/1.1, and their upgrades. It sends each piece of a response at once. A
// gateway that does not answer is status 502.
func To(base *url.URL, log *slog.Logger) http.Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &httputil.ReverseProxy{
		Transport:     &http.Transport{DisableCompression: true}, // the response stays as it is
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelInfo),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			log.Info("the gateway does not answer", "path", r.URL.Path, "err", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}
