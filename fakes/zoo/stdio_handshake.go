package zoo

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"

	"assay/internal/base/crash"
)

// handshakeFaults returns the faults in the opening handshake of the stdio surface.
func handshakeFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-accept-wrong",
			Title:  "Sec-WebSocket-Accept is the key of the request",
			Breaks: []string{"stdio.handshake.accept"},
			Source: "RFC 6455 4.2.2: hand-written upgrades, which clients that do not check it accept",
		}, onUpgrade(func(r *http.Request, h http.Header) { h.Set("Sec-WebSocket-Accept", r.Header.Get("Sec-WebSocket-Key")) })},
		{Fault{
			ID:     "stdio-connection-missing",
			Title:  "The response to a handshake has no Connection: Upgrade",
			Breaks: []string{"stdio.handshake.accept"},
			Source: "reverse proxies that drop hop-by-hop fields and forward 101",
		}, onUpgrade(func(_ *http.Request, h http.Header) { h.Del("Connection") })},
		{Fault{
			ID:     "stdio-extension-unasked",
			Title:  "Every handshake is granted permessage-deflate",
			Breaks: []string{"stdio.handshake.negotiation"},
			Source: "RFC 6455 9.1: servers with compression as a setting; browsers fail the connection",
		}, onUpgrade(func(_ *http.Request, h http.Header) { h.Set("Sec-WebSocket-Extensions", "permessage-deflate") })},
		{Fault{
			ID:     "stdio-subprotocol-unasked",
			Title:  "Every handshake is granted the subprotocol tty",
			Breaks: []string{"stdio.handshake.negotiation"},
			Source: "ttyd and gotty, whose clients ask for it; others fail the connection",
		}, onUpgrade(func(_ *http.Request, h http.Header) { h.Set("Sec-WebSocket-Protocol", "tty") })},
		{Fault{
			ID:     "stdio-extension-refused",
			Title:  "A handshake that offers an extension is refused with 400",
			Breaks: []string{"stdio.handshake.extension"},
			Source: "RFC 6455 9.1: servers without extensions that take an offer for a demand; browsers offer permessage-deflate",
		}, refuses(func(r *http.Request) bool { return r.Header.Get("Sec-WebSocket-Extensions") != "" })},
		{Fault{
			ID:     "stdio-version-unchecked",
			Title:  "Every Sec-WebSocket-Version is accepted",
			Breaks: []string{"stdio.handshake.version"},
			Source: "RFC 6455 4.4: hand-written upgrades",
		}, onAttachRequest(func(r *http.Request) { r.Header.Set("Sec-WebSocket-Version", "13") })},
		{Fault{
			ID:     "stdio-key-unchecked",
			Title:  "A handshake needs no valid key",
			Breaks: []string{"stdio.handshake.key"},
			Source: "RFC 6455 4.2.1: hand-written upgrades, which hash whatever is there",
		}, onAttach(hashAnyKey)},
		{Fault{
			ID:     "stdio-get-runs",
			Title:  "A GET without an upgrade runs the command",
			Breaks: []string{"stdio.handshake.plain"},
			Source: "RFC 9110 9.2.1: gateways that start the process before they upgrade; health checks and link previews then run commands",
		}, onAttach(runAnyway)},
		{Fault{
			ID:     "stdio-post-upgrades",
			Title:  "POST opens a WebSocket too",
			Breaks: []string{"stdio.handshake.method"},
			Source: "RFC 6455 4.2.1: routers without a method",
		}, onAttachFront(func(r *http.Request) {
			if r.Method == http.MethodPost {
				r.Method = http.MethodGet
			}
		})},
		{Fault{
			ID:     "stdio-connection-exact",
			Title:  "A handshake is refused unless Connection is Upgrade alone",
			Breaks: []string{"stdio.handshake.case"},
			Source: "RFC 6455 4.2.1: servers that refuse Firefox, which sends keep-alive, Upgrade",
		}, refuses(func(r *http.Request) bool { return r.Header.Get("Connection") != "Upgrade" })},
		{Fault{
			ID:     "stdio-origin-unchecked",
			Title:  "The pages of every origin may open a WebSocket, with the rights of who looks at them",
			Breaks: []string{"stdio.handshake.origin"},
			Source: "CVE-2023-26114: code-server, whose token is a cookie",
		}, func(b *build) {
			onAttachFront(func(r *http.Request) {
				if r.Header.Get("Origin") != "" {
					r.Header.Del("Origin")
					r.Header.Set("X-Access-Token", b.Token)
				}
			})(b)
		}},
		{Fault{
			ID:     "stdio-command-missing",
			Title:  "A handshake without a command is an internal error",
			Breaks: []string{"stdio.handshake.command"},
			Source: "an exception about null, or about an index beyond the end",
		}, onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if q := r.URL.Query(); isWSUpgrade(r) && q.Get("cmd") == "" && !q.Has("session") {
				http.Error(w, "internal error", http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// stdioAuthFaults returns the faults in the authorization of the stdio surface.
func stdioAuthFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-token-optional",
			Title:  "A handshake without a token is accepted",
			Breaks: []string{"stdio.auth.missing"},
			Source: "gateways whose middleware checks a token only where there is one",
		}, func(b *build) {
			onAttachFront(func(r *http.Request) {
				if !hasCredential(r) {
					r.Header.Set("X-Access-Token", b.Token)
				}
			})(b)
		}},
		{Fault{
			ID:     "stdio-token-unchecked",
			Title:  "Any token is accepted",
			Breaks: []string{"stdio.auth.invalid"},
			Source: "gateways that decode a JWT without its signature",
		}, func(b *build) {
			onAttachFront(func(r *http.Request) {
				if hasCredential(r) {
					dropCredential(r, "token", "Authorization")
					r.Header.Set("X-Access-Token", b.Token)
				}
			})(b)
		}},
		{Fault{
			ID:     "stdio-query-token-ignored",
			Title:  "The token in the query is not read",
			Breaks: []string{"stdio.auth.query"},
			Source: "gateways tested without a browser, which cannot set a header",
		}, onAttachFront(func(r *http.Request) { dropCredential(r, "token") })},
		{Fault{
			ID:     "stdio-bearer-ignored",
			Title:  "A bearer token is not read",
			Breaks: []string{"stdio.auth.bearer"},
			Source: "gateways tested with a browser only",
		}, onAttachFront(func(r *http.Request) { dropCredential(r, "", "Authorization") })},
	}
}

// onUpgrade changes the header of every accepted handshake.
func onUpgrade(change func(r *http.Request, h http.Header)) func(*build) {
	return onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&headWriter{writer: writer{w}, change: func(h http.Header, status int) int {
			if status == http.StatusSwitchingProtocols {
				change(r, h)
			}
			return status
		}}, r)
	})
}

// onAttachRequest changes a copy of every request of the stdio surface behind authorization.
func onAttachRequest(change func(r *http.Request)) func(*build) {
	return onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		changed := r.Clone(r.Context())
		change(changed)
		next.ServeHTTP(w, changed)
	})
}

// onAttachFront changes a copy of every request of the stdio surface in front of authorization.
func onAttachFront(change func(r *http.Request)) func(*build) {
	return onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/attach") && isWSUpgrade(r) {
			r = r.Clone(r.Context())
			change(r)
		}
		next.ServeHTTP(w, r)
	})
}

// isWSUpgrade reports whether a request wants a WebSocket.
func isWSUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// refuses refuses handshakes with 400.
func refuses(which func(r *http.Request) bool) func(*build) {
	return onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if isWSUpgrade(r) && which(r) {
			http.Error(w, "bad handshake", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hashAnyKey answers an invalid key like a valid one.
func hashAnyKey(w http.ResponseWriter, r *http.Request, next http.Handler) {
	key := strings.Join(r.Header.Values("Sec-WebSocket-Key"), ", ")
	if raw, err := base64.StdEncoding.DecodeString(key); err == nil && len(raw) == 16 {
		next.ServeHTTP(w, r)
		return
	}
	r = r.Clone(r.Context())
	r.Header.Set("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	next.ServeHTTP(&headWriter{writer: writer{w}, change: func(h http.Header, status int) int {
		sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		h.Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
		return status
	}}, r)
}

// hasCredential reports whether a request has a token anywhere.
func hasCredential(r *http.Request) bool {
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return r.URL.Query().Get("token") != "" || strings.TrimSpace(bearer) != "" || r.Header.Get("X-Access-Token") != ""
}

// dropCredential removes a parameter and header fields.
func dropCredential(r *http.Request, parameter string, fields ...string) {
	q := r.URL.Query()
	q.Del(parameter)
	r.URL.RawQuery = q.Encode()
	for _, f := range fields {
		r.Header.Del(f)
	}
}

// runAnyway runs the command of a GET without an upgrade, for nobody.
func runAnyway(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if isWSUpgrade(r) || r.Method != http.MethodGet || r.URL.Query().Get("cmd") == "" {
		next.ServeHTTP(w, r)
		return
	}
	upgrade := r.Clone(r.Context())
	upgrade.ProtoMajor, upgrade.ProtoMinor = 1, 1
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
	} {
		upgrade.Header.Set(name, value)
	}
	nobody := &pipeWriter{header: http.Header{}}
	crash.Go(func() {
		next.ServeHTTP(nobody, upgrade)
	})
	next.ServeHTTP(w, r)
}

// pipeWriter is a response writer whose connection nobody reads.
type pipeWriter struct{ header http.Header }

// Header returns the header.
func (p *pipeWriter) Header() http.Header { return p.header }

// WriteHeader does nothing.
func (p *pipeWriter) WriteHeader(int) {}

func (p *pipeWriter) Write(b []byte) (int, error) { return len(b), nil }

// Hijack returns a connection that drops what is written.
func (p *pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, drain := net.Pipe()
	crash.Go(func() {
		_, _ = io.Copy(io.Discard, drain)
		_ = drain.Close()
	})
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}

// handshakeVariants returns the variants in the opening handshake of the stdio surface.
func handshakeVariants() []variant {
	return []variant{
		{Variant{
			ID:     "stdio-odd-head",
			Title:  "An accepted handshake has Upgrade: WebSocket, Connection: keep-alive, upgrade, and more fields",
			Source: "RFC 6455 section 4.1: both values are case-insensitive, and a response may have other fields; proxies",
		}, onUpgrade(func(_ *http.Request, h http.Header) {
			h.Set("Upgrade", "WebSocket")
			h.Set("Connection", "keep-alive, upgrade")
			h.Set("Server", "gateway/1.0 (sandbox)")
			h.Set("Set-Cookie", "sandbox=default; Path=/")
		})},
		{Variant{
			ID:     "stdio-upgrade-required",
			Title:  "A GET without an upgrade gets 426",
			Source: "RFC 9110 section 15.5.22",
		}, onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if isWSUpgrade(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Connection", "Upgrade")
			http.Error(w, "this is a WebSocket", http.StatusUpgradeRequired)
		})},
		{Variant{
			ID:     "stdio-head-with-frames",
			Title:  "The head of an accepted handshake is sent together with the first frame, if that follows within 50 ms",
			Source: "TCP has no message boundaries: a client must keep what it reads behind the head",
		}, onConn(func(c net.Conn) net.Conn { return &heldHead{Conn: c} })},
		{Variant{
			ID:     "stdio-unknown-refused",
			Title:  "A handshake for a command that does not exist is refused with 400",
			Source: "Bun.spawn, which fails before the session is there",
		}, refuseUnknown},
	}
}
