package drive

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The transport speaks the requested version of HTTP, in clear and over TLS.
func TestTheTransportSpeaksTheRequestedVersion(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, h2 := range []bool{false, true} {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }))
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Config.Protocols.SetHTTP2(true)
			c := Config{H2: h2, Open: 1}
			if secure {
				s.EnableHTTP2 = true
				s.StartTLS()
				c.CA = filepath.Join(t.TempDir(), "ca.pem")
				if err := os.WriteFile(c.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				s.Start()
			}
			t.Cleanup(s.Close)
			tr, err := c.Transport()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(tr.CloseIdleConnections)
			resp, err := (&http.Client{Transport: tr}).Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if (resp.ProtoMajor == 2) != h2 {
				t.Errorf("TLS %v, HTTP/2 %v: got %s", secure, h2, resp.Proto)
			}
		}
	}
}

func TestAMissingCertificateIsAnError(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{empty: "no certificate in PEM", empty + "x": "no such file"} {
		if _, err := (Config{CA: file}).Transport(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
