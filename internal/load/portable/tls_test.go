package portable_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

// secured returns a script that performs the handshake, reads one request and continues with
// what a gateway does then.
func secured(config *tls.Config, then func(c *tls.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		s := tls.Server(c, config)
		in := bufio.NewReader(s)
		r, err := http.ReadRequest(in)
		if err != nil {
			loadtest.Hold(c) // closing with unread bytes would be a reset
			return
		}
		if _, _ = io.Copy(io.Discard, r.Body); !strings.HasSuffix(r.URL.Path, "/Start") {
			_, _ = io.WriteString(s, loadtest.KillOK)
			return
		}
		then(s)
	}
}

// serving is what a server with another configuration does: it answers well.
func serving(change func(c *tls.Config)) func(net.Conn) {
	config := loadtest.ServerTLS()
	change(config)
	return secured(config, func(c *tls.Conn) {
		_, _ = io.WriteString(c, loadtest.GoodAnswer())
		loadtest.Hold(c)
	})
}

// raw is what a gateway does that sends bytes under TLS instead of a record.
func raw(version uint16, p []byte) func(net.Conn) {
	config := loadtest.ServerTLS()
	config.MaxVersion = version
	return secured(config, func(c *tls.Conn) {
		_, _ = io.WriteString(c, begun)
		_, _ = c.NetConn().Write(p)
		loadtest.Hold(c.NetConn())
	})
}

// begun is the beginning of a response.
var begun = loadtest.StreamHead + loadtest.Chunk(loadtest.StartEvent(7)+loadtest.Stdout("1\n"))

// selfSigned returns a certificate of 127.0.0.1 that is valid until a time.
func selfSigned(t *testing.T, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Whatever a gateway does with TLS, the stream has a named outcome, alike with every driver.
func TestEveryOutcomeOfTLS(t *testing.T) {
	expired := selfSigned(t, time.Now().Add(-time.Hour))
	trusting := func(c tls.Certificate) func(*load.Plan) {
		return func(p *load.Plan) { p.TLS.RootCAs = x509.NewCertPool(); p.TLS.RootCAs.AddCert(c.Leaf) }
	}
	tests := map[string]struct {
		serve   func(net.Conn)
		change  func(p *load.Plan)
		outcome bundle.StreamOutcome
		message string
		refused bool
	}{
		"an expired certificate": {
			serving(func(c *tls.Config) { c.Certificates = []tls.Certificate{expired} }), trusting(expired),
			bundle.StreamServerError, "certificate has expired", true,
		},
		"a certificate that is not trusted": {
			serving(func(*tls.Config) {}), func(p *load.Plan) { p.TLS.RootCAs = x509.NewCertPool() },
			bundle.StreamServerError, "unknown authority", true,
		},
		"a certificate of another name": {
			serving(func(*tls.Config) {}), func(p *load.Plan) { p.TLS.ServerName = "gateway.invalid" },
			bundle.StreamServerError, "gateway.invalid", true,
		},
		"a certificate that is not checked": {
			serving(func(c *tls.Config) { c.Certificates = []tls.Certificate{expired} }), func(p *load.Plan) { p.TLS.InsecureSkipVerify = true },
			bundle.StreamOK, "", false,
		},
		"no TLS": {
			func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); loadtest.Hold(c) }, nil,
			bundle.StreamServerError, "does not look like a TLS handshake", true,
		},
		"no version in common": {
			serving(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }), nil,
			bundle.StreamServerError, "the gateway refuses the TLS handshake: tls: protocol version not supported", true,
		},
		"a client certificate is required": {
			serving(func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }), nil,
			bundle.StreamServerError, "the gateway refuses the TLS handshake", true,
		},
		"a client certificate is required after the handshake": {
			serving(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), nil,
			bundle.StreamReset, "ended TLS with an alert: tls: certificate required", false,
		},
		"no h2 by ALPN": {
			serving(func(c *tls.Config) { c.NextProtos = nil }), func(p *load.Plan) { p.HTTP, p.TLS.NextProtos = load.H2TLS, []string{"h2"} },
			bundle.StreamServerError, "h2 by ALPN", true,
		},
		"silence in the handshake": {
			loadtest.Hold, func(p *load.Plan) { p.Limits.Connect = loadtest.Soon },
			bundle.StreamAcceptStall, "the TLS handshake was not complete within", false,
		},
		"half a record in the handshake, then silence": {
			loadtest.Then("\x16\x03\x03\x10\x00abc", loadtest.Hold), func(p *load.Plan) { p.Limits.Connect = loadtest.Soon },
			bundle.StreamAcceptStall, "the TLS handshake was not complete within", false,
		},
		"closed in the handshake": {
			func(c net.Conn) { _, _ = c.Read(make([]byte, 4<<10)) }, nil,
			bundle.StreamReset, "closed during the TLS handshake", false,
		},
		"half a record in the handshake, then closed": {
			func(c net.Conn) {
				_, _ = c.Read(make([]byte, 4<<10))
				_, _ = io.WriteString(c, "\x16\x03\x03\x10\x00abc")
			}, nil,
			bundle.StreamReset, "closed during the TLS handshake", false,
		},
		"reset in the handshake": {
			func(c net.Conn) { _, _ = c.Read(make([]byte, 4<<10)); loadtest.Abort(c) }, nil,
			bundle.StreamReset, "reset by peer during the TLS handshake", false,
		},
		"a handshake that is wrong": {
			loadtest.Then("\x16\x03\x03\x00\x04\x0e\x00\x00\x00", loadtest.Hold), nil, // ServerHelloDone comes first
			bundle.StreamCorrupt, "the TLS handshake is wrong", false,
		},
		"closed without close_notify": {
			secured(loadtest.ServerTLS(), func(c *tls.Conn) { _, _ = io.WriteString(c, begun); _ = c.NetConn().Close() }), nil,
			bundle.StreamReset, "closed during the response", false,
		},
		"closed with close_notify": {
			secured(loadtest.ServerTLS(), func(c *tls.Conn) { _, _ = io.WriteString(c, begun); _ = c.Close() }), nil,
			bundle.StreamReset, "closed during the response", false,
		},
		"close_notify, and the connection stays open": {
			secured(loadtest.ServerTLS(), func(c *tls.Conn) { _, _ = io.WriteString(c, begun); _ = c.CloseWrite(); loadtest.Hold(c.NetConn()) }), nil,
			bundle.StreamReset, "closed during the response", false,
		},
		"closed inside a record": {
			secured(loadtest.ServerTLS(), func(c *tls.Conn) {
				_, _ = io.WriteString(c, begun)
				_, _ = c.NetConn().Write([]byte("\x17\x03\x03\x10\x00abc"))
				_ = c.NetConn().Close()
			}), nil,
			bundle.StreamReset, "during the response", false,
		},
		"records of one byte": {
			secured(loadtest.ServerTLS(), func(c *tls.Conn) {
				for _, b := range []byte(loadtest.GoodAnswer()) {
					_, _ = c.Write([]byte{b})
				}
				loadtest.Hold(c)
			}), nil,
			bundle.StreamOK, "", false,
		},
		"records in segments of one byte": {
			func(c net.Conn) {
				serving(func(c *tls.Config) { c.DynamicRecordSizingDisabled = true })(bytewise{c})
			}, nil,
			bundle.StreamOK, "", false,
		},
		"a renegotiation": {
			records(handshakeRecord, "\x00\x00\x00\x00"), nil, // HelloRequest
			bundle.StreamCorrupt, "the gateway asks for another TLS handshake", false,
		},
		"an alert": {
			records(alertRecord, "\x02\x50"), nil,
			bundle.StreamReset, "the gateway ended TLS with an alert: tls: internal error", false,
		},
		"warnings without end": {
			records(alertRecord, slices.Repeat([]string{"\x01\x5a"}, 20)...), nil,
			bundle.StreamCorrupt, "too many ignored records", false,
		},
		"a record that is not authentic": {raw(tls.VersionTLS13, []byte("\x17\x03\x03\x00\x20"+strings.Repeat("x", 32))), nil, bundle.StreamCorrupt, "bad record MAC", false},
		"a record that is too long":      {raw(tls.VersionTLS13, []byte("\x17\x03\x03\xff\xff")), nil, bundle.StreamCorrupt, "oversized record", false},
		"no record":                      {raw(tls.VersionTLS13, []byte("HTTP/1.1 200 OK\r\n\r\n")), nil, bundle.StreamCorrupt, "breaks TLS", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e load.Engine) {
				t.Parallel()
				p := loadtest.Plan(t, loadtest.Listen(t, tt.serve), func(p *load.Plan) { p.TLS = loadtest.ClientTLS() })
				if tt.change != nil {
					tt.change(p)
				}
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
				if m := c.Message(); !strings.Contains(m, tt.message) || c.Results[0].Refused != tt.refused {
					t.Errorf("%+v, want %q, refused %v", c.Results[0], tt.message, tt.refused)
				}
			})
		})
	}
}

// bytewise is a connection that sends each byte on its own.
type bytewise struct{ net.Conn }

func (c bytewise) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// The first handshake of a run is complete, and later ones resume its session. Connections
// and handshakes are timed.
func TestHandshakesAreTimed(t *testing.T) {
	last := strings.Replace(loadtest.GoodAnswer(), "Content-Type", "Connection: close\r\nContent-Type", 1)
	for _, w := range loadtest.Ways() {
		t.Run(w.Name, func(t *testing.T) {
			each(t, func(t *testing.T, e load.Engine) {
				addr := loadtest.Script(t, loadtest.Then(last, loadtest.HangUp), loadtest.KillOK, w)
				c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, w.Plan, func(p *load.Plan) { p.Count = 5 }))
				c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 5})
				connected, full, resumed := len(c.Values[load.Connect]), len(c.Values[load.TLSFull]), len(c.Values[load.TLSResumed])
				if w.Version == 0 {
					full, resumed = full+1, resumed+4
				}
				if connected != 5 || full != 1 || resumed != 4 {
					t.Errorf("%d connections, %d handshakes, %d resumed", connected, full, resumed)
				}
			})
		})
	}
}

// After its certificate has expired, a gateway serves the connections that are open, and gets
// no new ones: a session that could be resumed has expired, too.
func TestACertificateMayExpireDuringTheRun(t *testing.T) {
	const before, after = 3, 2
	kept := loadtest.GoodAnswer()
	for name, tt := range map[string]struct {
		answer string
		want   map[bundle.StreamOutcome]int64
	}{
		"connections that are kept": {kept, map[bundle.StreamOutcome]int64{bundle.StreamOK: before + after}},
		"a connection for each stream": {
			strings.Replace(kept, "Content-Type", "Connection: close\r\nContent-Type", 1),
			map[bundle.StreamOutcome]int64{bundle.StreamOK: before, bundle.StreamServerError: after},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e load.Engine) {
				t.Parallel()
				var served atomic.Int64
				config := loadtest.ServerTLS()
				expires := config.Certificates[0].Leaf.NotAfter
				addr := loadtest.Listen(t, func(c net.Conn) {
					s := tls.Server(c, config)
					in := bufio.NewReader(s)
					for {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, r.Body)
						served.Add(1)
						_, _ = io.WriteString(s, tt.answer)
						if tt.answer != kept {
							_ = s.CloseWrite()
						}
					}
				})
				c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, func(p *load.Plan) {
					p.TLS, p.Count = loadtest.ClientTLS(), before+after
					p.TLS.Time = func() time.Time {
						if served.Load() < before {
							return expires.Add(-time.Second)
						}
						return expires.Add(time.Second)
					}
				}))
				c.Want(t, tt.want)
				if m := c.Message(); (m == "") != (tt.want[bundle.StreamServerError] == 0) || m != "" && !strings.Contains(m, "certificate has expired") {
					t.Errorf("%q", c.Messages())
				}
			})
		})
	}
}
