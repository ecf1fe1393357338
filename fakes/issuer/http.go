package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assay/internal/base/crash"
)

// headerTimeout is how long a client may take for the head of its request.
const headerTimeout = 10 * time.Second

// Start listens on a loopback address, such as 127.0.0.1:0, and serves until Close. It sets the URL.
func Start(ctx context.Context, listen string, o Options) (*Issuer, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("issuer %q: want HOST:PORT: %w", listen, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("issuer %q: it gives tokens to whoever asks, so it listens on a loopback address only", listen)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("issuer: listen on %s: %w", listen, err)
	}
	o.URL = "http://" + l.Addr().String()
	i, err := New(o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	i.served = make(chan struct{})
	i.server = &http.Server{Handler: i.Handler(), ReadHeaderTimeout: headerTimeout}
	crash.Go(func() {
		defer close(i.served)
		_ = i.server.Serve(l)
	})
	return i, nil
}

// Close ends the server of Start, and returns when its listener is closed.
func (i *Issuer) Close() error {
	if i.server == nil {
		return nil
	}
	err := i.server.Close()
	<-i.served
	return err
}

// Handler serves the discovery document, the keys, and GET /mint and POST /rotate, which are for people and tests. It answers only under
// the host of its URL, so that no page can reach it under a name of its own.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.serveDiscovery)
	mux.HandleFunc("GET /jwks", i.serveKeys)
	mux.HandleFunc("GET /mint", i.serveMint)
	mux.HandleFunc("POST /rotate", i.serveRotate)
	mux.HandleFunc("GET /{$}", i.serveHelp)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, err := url.Parse(i.o.URL); err != nil || !strings.EqualFold(r.Host, u.Host) {
			http.Error(w, "this is "+i.o.URL, http.StatusMisdirectedRequest)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		mux.ServeHTTP(w, r)
	})
}

func (i *Issuer) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{
		"issuer":                                i.o.URL,
		"jwks_uri":                              i.o.URL + "/jwks",
		"response_types_supported":              []string{"token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{ES256, RS256},
		"scopes_supported":                      []string{ScopeConnect, ScopeExec, ScopeAdmin},
	})
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{}
	for _, k := range i.valid() {
		public, err := k.public()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		set.Keys = append(set.Keys, public)
	}
	writeJSON(w, set)
}

// writeJSON answers with a document. A client that has gone gets none.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// serveMint answers with a token, and nothing else, so that a shell can take it.
func (i *Issuer) serveMint(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s := Spec{Subject: q.Get("sub"), Alg: q.Get("alg")}
	if q.Has("scope") {
		s.Scopes = append([]string{}, strings.Fields(q.Get("scope"))...)
	}
	token, err := i.mint(q.Get("kind"), q.Get("life"), s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprintln(w, token)
}

func (i *Issuer) mint(kind, life string, s Spec) (_ string, err error) {
	if life != "" {
		if s.Life, err = time.ParseDuration(life); err != nil {
			return "", fmt.Errorf("life: %w", err)
		}
	}
	if kind == "" {
		return i.Mint(s)
	}
	return i.MintBad(kind, s)
}

func (i *Issuer) serveRotate(w http.ResponseWriter, _ *http.Request) {
	if err := i.Rotate(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (i *Issuer) serveHelp(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, `GET %[1]s/mint answers with a token. Parameters: sub (default %s),
scope (default "%s %s"; separated by spaces), alg (%s or %s), life (such as 30s),
and kind, for a token that must be refused:

`, i.o.URL, DefaultSubject, ScopeConnect, ScopeExec, ES256, RS256)
	for _, k := range Kinds() {
		_, _ = fmt.Fprintf(w, "  %-17s %d  %s\n", k.Name, k.Status, k.Title)
	}
	_, _ = fmt.Fprintf(w, "\nPOST %s/rotate makes new keys; the old ones stay valid for %v.\n", i.o.URL, overlap)
}
