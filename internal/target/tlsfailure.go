package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

const mendInsecure = "--insecure skips the check."

// tlsFailure explains a failed TLS handshake; nil for any other failure.
func (t *Target) tlsFailure(err error) *UnreachableError {
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var check *tls.CertificateVerificationError
	var remote *net.OpError
	switch {
	case errors.As(err, &record):
		return t.unreachable(fmt.Sprintf("this port does not speak TLS; its response begins %.24q.", record.RecordHeader[:]),
			"If it speaks plain HTTP there, write http"+strings.TrimPrefix(t.url.String(), schemeHTTPS)+".")
	case errors.As(err, &unknownCA):
		return t.unreachable(fmt.Sprintf("its certificate (%s) is signed by an untrusted authority.", subject(unknownCA.Cert)),
			"Give the certificate of that authority, or the self-signed certificate, with --cacert FILE; "+mendInsecure)
	case errors.As(err, &host):
		return t.unreachable(fmt.Sprintf("its certificate is for %s, not for %s.", namesOf(host.Certificate), host.Host),
			"Write one of its names in the URL; "+mendInsecure)
	case errors.As(err, &invalid):
		return t.unreachable(fmt.Sprintf("its certificate is invalid: %s.", invalid.Error()),
			"Check its dates and the clock of this machine; "+mendInsecure)
	case errors.As(err, &check):
		return t.unreachable(fmt.Sprintf("its certificate cannot be trusted: %s.", check.Err), mendInsecure)
	case errors.As(err, &remote) && remote.Op == "remote error":
		return t.unreachable(fmt.Sprintf("it refuses the TLS handshake (%s).", remote.Err), "Does it require a client certificate, or another host name?")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return t.unreachable("it closes the connection during the TLS handshake.",
			"If it speaks plain HTTP there, write http"+strings.TrimPrefix(t.url.String(), schemeHTTPS)+".")
	}
	return nil
}

func subject(c *x509.Certificate) string {
	if c == nil {
		return "none"
	}
	return c.Subject.String()
}

// namesOf lists the names of a certificate.
func namesOf(c *x509.Certificate) string {
	names := c.DNSNames
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name"
	}
	return strings.Join(names, ", ")
}
