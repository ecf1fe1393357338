package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificateLife is how long the self-made certificate is valid: longer than
// any run, and too short to be kept.
const certificateLife = 14 * 24 * time.Hour

// selfSigned creates a key and a self-signed certificate for localhost, the
// loopback addresses, the listening host and names. caPEM is the certificate for
// clients to trust.
func selfSigned(host string, names []string, now time.Time) (cert tls.Certificate, caPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return cert, nil, fmt.Errorf("make a serial number: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "assay reference gateway"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              append([]string{"localhost"}, names...),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = append(t.IPAddresses, ip)
	} else if host != "" && host != "localhost" {
		t.DNSNames = append(t.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return cert, nil, fmt.Errorf("make a certificate: %w", err)
	}
	caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, caPEM, nil
}

// tlsListener terminates TLS before the HTTP server sees a connection, so that
// the connection seams get plain bytes and one server serves both. The client's
// first bytes show the version of HTTP; they must match the result of ALPN.
func tlsListener(l net.Listener, cert tls.Certificate) net.Listener {
	conf := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{cert},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	return connListener{l, func(c net.Conn) net.Conn { return tlsConn{tls.Server(c, conf)} }}
}

// tlsConn hides TLS from net/http, whose server would otherwise leave HTTP/2 to
// ALPN. The handshake happens at the first read.
type tlsConn struct{ net.Conn }

// plainHTTPAnswer is the response to a client that speaks HTTP without TLS.
const plainHTTPAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"Client sent an HTTP request to an HTTPS server.\n"

func (c tlsConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && looksLikeHTTP(record.RecordHeader) {
		// The connection ends either way.
		_, _ = record.Conn.Write([]byte(plainHTTPAnswer))
	}
	return n, err
}

// CloseWrite tells the client that nothing follows.
func (c tlsConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// looksLikeHTTP reports whether a TLS record header is the start of a request.
func looksLikeHTTP(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PRI *":
		return true
	default:
		return false
	}
}
