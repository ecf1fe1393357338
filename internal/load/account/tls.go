package account

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// ErrNoH2 is the error of a handshake with a gateway whose ALPN does not choose HTTP/2.
var ErrNoH2 = errors.New("the gateway does not choose h2 by ALPN")

// Handshake returns the failure of a TLS handshake with an error. limit is how long it was
// allowed to take, with its dial.
//
// A certificate that is expired or not trusted, a peer that does not speak TLS or HTTP/2,
// and one that refuses the handshake are no such gateway at all.
func Handshake(err error, limit time.Duration) *Failure {
	var untrusted *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &untrusted), errors.As(err, &notTLS), errors.Is(err, ErrNoH2):
		return &Failure{Outcome: bundle.StreamServerError, Refused: true, Detail: untimely(err)}
	case alertOf(err) != "":
		return &Failure{Outcome: bundle.StreamServerError, Refused: true, Detail: "the gateway refuses the TLS handshake: " + alertOf(err)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return NoHandshake(limit)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Failure{Outcome: bundle.StreamReset, Detail: "the connection was closed during the TLS handshake"}
	case errors.As(err, new(syscall.Errno)):
		return Broken(err, "during the TLS handshake")
	}
	return Breach("the TLS handshake is wrong: %v", err)
}

// untimely returns the text of the error. For a certificate that is expired or not valid yet, it
// has the dates of the certificate instead of the present time, so that equal failures have equal
// messages.
func untimely(err error) string {
	var invalid x509.CertificateInvalidError
	if !errors.As(err, &invalid) || invalid.Reason != x509.Expired || invalid.Cert == nil {
		return err.Error()
	}
	invalid.Detail = fmt.Sprintf("it is valid from %s to %s",
		invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
	return "tls: failed to verify certificate: " + invalid.Error()
}

// NoHandshake returns the failure of a connection whose TLS handshake took too long.
func NoHandshake(limit time.Duration) *Failure {
	return &Failure{Outcome: bundle.StreamAcceptStall, Detail: fmt.Sprintf("the connection was accepted, but the TLS handshake was not complete within %v", limit)}
}

// BrokenTLS returns the failure of a connection whose peer ended TLS with an alert or broke
// its rules; nil for an error that is not from TLS.
func BrokenTLS(err error) *Failure {
	var header tls.RecordHeaderError
	switch {
	case alertOf(err) != "":
		return &Failure{Outcome: bundle.StreamReset, Detail: "the gateway ended TLS with an alert: " + alertOf(err)}
	case err.Error() == ourAlert+"tls: no renegotiation":
		return Breach("the gateway asks for another TLS handshake on the same connection (renegotiation), which ends it")
	case errors.As(err, &header), strings.HasPrefix(err.Error(), ourAlert), strings.HasPrefix(err.Error(), "tls: "):
		return Breach("the connection breaks TLS: %v", err)
	}
	return nil
}

// The errors of crypto/tls begin so: for an alert that the peer sent, and for one that this
// side sent because the peer broke a rule.
const (
	peerAlert = "remote error: "
	ourAlert  = "local error: "
)

// alertOf returns the text of the alert that the peer sent; "" when the error is another.
func alertOf(err error) string {
	text, is := strings.CutPrefix(err.Error(), peerAlert)
	if !is {
		return ""
	}
	return text
}

// Connected records the time in which a connection was made. Any goroutine may call it.
func (a *Streams) Connected(took time.Duration) { a.record(0, load.Connect, int64(took)) }

// Secured records the time of a TLS handshake. Any goroutine may call it.
func (a *Streams) Secured(took time.Duration, resumed bool) {
	if resumed {
		a.record(0, load.TLSResumed, int64(took))
		return
	}
	a.record(0, load.TLSFull, int64(took))
}
