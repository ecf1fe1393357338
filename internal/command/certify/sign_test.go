package certify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

func pemOf(t *testing.T, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func pkcs8(t *testing.T, key crypto.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pemOf(t, "PRIVATE KEY", der, err)
}

func curve(t *testing.T, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func edwards(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sec1(t *testing.T, k *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(k)
	return pemOf(t, "EC PRIVATE KEY", der, err)
}

func TestKeysAreReadOrRefused(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		want string // "" is an accepted key
	}{
		"Ed25519":            {pkcs8(t, edwards(t)), ""},
		"P-256":              {pkcs8(t, curve(t, elliptic.P256())), ""},
		"P-256 in SEC 1":     {sec1(t, curve(t, elliptic.P256())), ""},
		"P-384":              {pkcs8(t, curve(t, elliptic.P384())), "on the curve P-384: want P-256"},
		"RSA":                {pkcs8(t, weak), "want Ed25519, or ECDSA on P-256"},
		"with a passphrase":  {pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}}), "passphrase: decrypt it"},
		"an old passphrase":  {pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte{1}}), "passphrase"},
		"no PEM":             {[]byte("key"), "no PEM file; `openssl genpkey"},
		"damaged":            {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1, 2}}), "damaged"},
		"a certificate":      {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}), `"CERTIFICATE": want PRIVATE KEY`},
		"a public key":       {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte{1}}), "--key wants the private one"},
		"an unknown block":   {pem.EncodeToMemory(&pem.Block{Type: strings.Repeat("X", 200), Bytes: []byte{1}}), "want PRIVATE KEY"},
		"two keys, one used": {append(pkcs8(t, edwards(t)), pkcs8(t, edwards(t))...), ""},
	} {
		_, err := parseKey(c.text)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAKeyThatMayNotBeRead(t *testing.T) {
	if _, err := ReadKey(filepath.Join(t.TempDir(), "absent.pem")); err == nil || !strings.Contains(err.Error(), "the key: ") {
		t.Errorf("%v", err)
	}
}

// An envelope is that of its statement and its key, to the byte.
func TestAnEnvelopeIsNotEdited(t *testing.T) {
	for name, private := range map[string]crypto.PrivateKey{"ed25519": edwards(t), "ecdsa-p256": curve(t, elliptic.P256())} {
		k, err := parseKey(pkcs8(t, private))
		if err != nil {
			t.Fatal(err)
		}
		if k.Signer().Algorithm != name {
			t.Errorf("%s is called %s", name, k.Signer().Algorithm)
		}
		public, err := parsePublicKey(k.PEM())
		if err != nil || *public.Signer() != *k.Signer() {
			t.Fatalf("the public key is %+v, %v", public, err)
		}
		payload := []byte(`{"_type":"x"}`)
		text, err := envelope(t.Context(), payload, k)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := opened(t.Context(), text, public); err != nil || string(got) != string(payload) {
			t.Fatalf("%q, %v", got, err)
		}
		for i := range text {
			edited := append([]byte{}, text...)
			edited[i] ^= 1
			if _, err := opened(t.Context(), edited, public); err == nil {
				t.Errorf("%s: the changed byte %d (%q) is not seen", name, i, text[i])
			}
		}
		other, err := parseKey(pkcs8(t, edwards(t)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := opened(t.Context(), text, other); err == nil || !strings.Contains(err.Error(), "not signed by the key "+other.Signer().Fingerprint) {
			t.Errorf("another key: %v", err)
		}
	}
}

func TestAStatementIsATestResult(t *testing.T) {
	c := &bundle.Certificate{
		Product: bundle.Product{Vendor: "Acme", Product: "Gateway", Version: "1", Digest: "sha256:" + strings.Repeat("0a", 32)},
		Build:   bundle.Build{Name: "assay", Version: "1", Catalogue: "sha256:" + strings.Repeat("0b", 32)},
		Profile: "e2b", ProfileDigest: "sha256:" + strings.Repeat("0c", 32), Rules: []string{"process.end.exit-code"}, Advisories: []string{"may.rule"},
	}
	text, err := statement(c, []byte("certificate"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"_type": "https://in-toto.io/Statement/v1"`, `"predicateType": "https://in-toto.io/attestation/test-result/v0.1"`, `"result": "PASSED"`,
		`"passedTests": [`, `"warnedTests": [`, `"name": "certificate.json"`, `"name": "Acme/Gateway 1"`, strings.Repeat("0a", 32), strings.Repeat("0b", 32), strings.Repeat("0c", 32),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in it:\n%s", want, text)
		}
	}
	again, err := statement(c, []byte("certificate"))
	if err != nil || string(again) != string(text) {
		t.Errorf("the same certificate has two statements, %v", err)
	}
}

// Another program verifies the signature over the bytes that DSSE defines.
func TestOpenSSLVerifiesTheSignature(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("openssl is not installed")
		}
		t.Skip("openssl is not installed")
	}
	for name, private := range map[string]crypto.PrivateKey{"ed25519": edwards(t), "ecdsa-p256": curve(t, elliptic.P256())} {
		k, err := parseKey(pkcs8(t, private))
		if err != nil {
			t.Fatal(err)
		}
		payload := []byte("the statement")
		signed := []byte("DSSEv1 28 application/vnd.in-toto+json 13 the statement")
		sig, err := k.Sign(t.Context(), signed)
		if err != nil {
			t.Fatal(err)
		}
		text, err := envelope(t.Context(), payload, k)
		if err != nil || !strings.Contains(string(text), `"payloadType": "application/vnd.in-toto+json"`) {
			t.Fatalf("%s, %v", text, err)
		}
		dir := t.TempDir()
		for file, text := range map[string][]byte{"pae": signed, "sig": sig, "key.pub": k.PEM()} {
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"pkeyutl", "-verify", "-pubin", "-inkey", "key.pub", "-rawin", "-in", "pae", "-sigfile", "sig"}
		if name == "ecdsa-p256" {
			args = []string{"dgst", "-sha256", "-verify", "key.pub", "-signature", "sig", "pae"}
		}
		c := exec.CommandContext(t.Context(), openssl, args...) //nolint:gosec // a tool of the test
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
