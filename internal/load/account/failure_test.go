package account

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// What this machine lacks is never the gateway's failure, whenever it shows.
func TestALackOfResourcesIsNotTheGatewaysFailure(t *testing.T) {
	for _, lack := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ENOSPC, syscall.EADDRNOTAVAIL} {
		err := &net.OpError{Op: "any", Err: os.NewSyscallError("any", lack)}
		for when, f := range map[string]*Failure{
			"dialling": Dial(err, time.Second), "in the handshake": Handshake(err, time.Second), "sending": Broken(err, WhileSending),
		} {
			if f.Outcome != bundle.StreamBlocked || f.Refused || !strings.Contains(f.Detail, lack.Error()) {
				t.Errorf("%v %s: %v", lack, when, f)
			}
		}
	}
	if f := Broken(syscall.ECONNRESET, InsideAnswer); f.Outcome != bundle.StreamReset {
		t.Errorf("a reset: %v", f)
	}
}

// A message is kept once, so it may not have the time of the failure.
func TestTheFailureOfAnExpiredCertificateHasNoPresentTime(t *testing.T) {
	from := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	var messages []string
	for n := range 2 {
		err := fmt.Errorf("dial: %w", &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{
			Cert: &x509.Certificate{NotBefore: from, NotAfter: from.Add(time.Hour)}, Reason: x509.Expired,
			Detail: fmt.Sprintf("current time %v is after the end", from.AddDate(1, 0, n)),
		}})
		messages = append(messages, Handshake(err, time.Second).Detail)
	}
	const want = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: it is valid from 2026-01-02T02:04:05Z to 2026-01-02T03:04:05Z"
	if messages[0] != want || messages[1] != want {
		t.Errorf("%q", messages)
	}
	other := &tls.CertificateVerificationError{Err: errors.New("x509: another reason")}
	if f := Handshake(other, time.Second); f.Detail != other.Error() {
		t.Errorf("%q", f.Detail)
	}
}
