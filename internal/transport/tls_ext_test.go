package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"assay/internal/transport"
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
