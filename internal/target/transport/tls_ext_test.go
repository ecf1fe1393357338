package transport_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// certificate returns a self-signed certificate of a name.
func certificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
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

// The peer chooses the names in its certificate.
func TestASecretInTheNamesOfACertificateIsNotRecorded(t *testing.T) {
	const token = "sk-verysecrettoken-0123456789"
	own := certificate(t, token+".example")
	roots := x509.NewCertPool()
	roots.AddCert(own.Leaf)
	addr := rawServer(t, func(c *net.TCPConn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}})
		_ = s.Handshake()
	})
	for name, config := range map[string]*tls.Config{
		"for another name": {RootCAs: roots, ServerName: "gateway.test"},
		"that is accepted": {RootCAs: roots, ServerName: token + ".example"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, token)
			_, err := transport.Open(c.ctx, c.rec, "c", addr, transport.Options{TLS: config})
			var wrong x509.HostnameError
			if refused := config.ServerName == "gateway.test"; errors.As(err, &wrong) != refused {
				t.Fatalf("err = %v", err)
			}
			conns, _ := c.rec.Finish(nil)
			record, failed := json.Marshal(conns)
			if failed != nil {
				t.Fatal(failed)
			}
			if s := string(record); strings.Contains(s, token) || !strings.Contains(s, strings.Repeat("*", len(token))+".example") {
				t.Errorf("recorded %s", s)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// A peer that reads nothing blocks a write. CloseWrite of TLS waits for that write.
func TestHalfCloseDoesNotWaitForABlockedWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		http  string
		serve func(peer *tls.Conn)
		end   func(c *client, conn *transport.Conn)
	}{
		"of an acknowledgement, by the script": {transport.H2TLS, func(peer *tls.Conn) {
			f := http2.NewFramer(peer, peer)
			_, _ = io.ReadFull(peer, make([]byte, len(http2.ClientPreface)))
			for range 2 { // SETTINGS and WINDOW_UPDATE
				_, _ = f.ReadFrame()
			}
			_ = f.WriteSettings()
		}, func(_ *client, conn *transport.Conn) { conn.Close("half") }},
		"of a frame, after the end of a WebSocket": {transport.HTTP1, func(peer *tls.Conn) {
			if _, ok := readRequest(bufio.NewReader(peer)); ok {
				_, _ = io.WriteString(peer, switched())
			}
		}, func(c *client, conn *transport.Conn) { c.untilConn(conn, "closed", conn.PeerClosed) }},
	} {
		t.Run(name, func(t *testing.T) {
			own := certificate(t, "gateway.test")
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			peer := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"}, SessionTicketsDisabled: true})
			blocked := make(chan struct{})
			go func() {
				tt.serve(peer)
				_, _ = far.Read(make([]byte, 1)) // of the write, which blocks from here on
				close(blocked)
				if tt.http == transport.HTTP1 {
					_ = peer.CloseWrite()
				}
			}()
			nc := tls.Client(near, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			if err := nc.Handshake(); err != nil {
				t.Fatal(err)
			}
			c := newClient(t)
			conn, err := transport.Attach(c.ctx, c.rec, "c", nc, transport.Options{HTTP: tt.http, TLS: &tls.Config{}})
			if err != nil {
				t.Fatal(err)
			}
			if tt.http == transport.HTTP1 {
				x := c.request(conn, attachCall())
				c.until(x, "the head", func(x bundle.Exchange) bool { return x.Response != nil })
				go func() { _ = conn.Write(c.ctx, binary("\x00in")) }()
			}
			<-blocked
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				tt.end(c, conn)
				c.rec.Finish(nil)
			}()
			select {
			case <-ended:
			case <-time.After(patience / 4):
				t.Error("it waits")
				_ = near.Close()
				<-ended
			}
		})
	}
}
