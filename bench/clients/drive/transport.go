package drive

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// Transport returns the transport of a client on net/http. It returns an error when the
// certificate of an https gateway cannot be read.
func (c Config) Transport() (*http.Transport, error) {
	t := &http.Transport{MaxIdleConnsPerHost: c.Open, DisableCompression: true, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!c.H2)
	t.Protocols.SetHTTP2(c.H2)
	t.Protocols.SetUnencryptedHTTP2(c.H2)
	if c.CA == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("-cacert: %w", err)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-cacert %s: no certificate in PEM", c.CA)
	}
	return t, nil
}
