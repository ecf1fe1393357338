package certificate

import (
	"crypto/x509"
	"testing"
	"time"
)

// The certificate is good for every name of the gateway, for 14 days, and for nothing else.
func TestTheCertificateNamesTheGateway(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for host, others := range map[string][]string{"": {"localhost", "127.0.0.1", "::1", "a.test"}, "10.1.2.3": {"10.1.2.3"}, "gateway.test": {"gateway.test"}} {
		cert, ca, err := SelfSigned(host, []string{"a.test"}, now)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			t.Fatalf("no certificate in %q", ca)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, at time.Time) error {
			_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: at})
			return err
		}
		for _, name := range others {
			if err := check(name, now); err != nil {
				t.Errorf("host %q: %s: %v", host, name, err)
			}
		}
		if check("other.test", now) == nil || check("localhost", now.Add(15*24*time.Hour)) == nil {
			t.Errorf("host %q: it is good for another name, or after 15 days", host)
		}
	}
}
