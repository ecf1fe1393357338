package certify

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
)

// maxKey bounds a key file, in bytes.
const maxKey = 16 << 10

// Key is a key of a signer: a private one signs, a public one only verifies. It implements dsse.SignerVerifier.
type Key struct {
	private crypto.Signer // nil: only public
	public  crypto.PublicKey
	signer  bundle.Signer
	der     []byte
}

// ReadKey reads a private key of ECDSA P-256 or Ed25519 from a PEM file.
func ReadKey(name string) (*Key, error) {
	text, err := safefile.ReadSecret(name, maxKey)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	k, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return k, nil
}

// howKey makes a key.
const howKey = "`openssl genpkey -algorithm ed25519 -out key.pem` makes one"

func parseKey(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no PEM file; " + howKey)
	}
	var key any
	var err error
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return nil, errors.New("the key has a passphrase: decrypt it for the run, as in `openssl pkey -in key.pem -out plain.pem`")
	case block.Type == "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case block.Type == "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case block.Type == "PUBLIC KEY":
		return nil, errors.New("it is a public key: --key wants the private one")
	default:
		return nil, fmt.Errorf("a PEM block %.40q: want PRIVATE KEY; %s", block.Type, howKey)
	}
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return newKey(key, key.Public())
	case *ecdsa.PrivateKey:
		return newKey(key, key.Public())
	}
	return nil, fmt.Errorf("a key of the type %T: want Ed25519, or ECDSA on P-256; %s", key, howKey)
}

// ReadPublicKey reads a public key from a PEM file.
func ReadPublicKey(name string) (*Key, error) {
	text, err := safefile.Read(name, maxKey)
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	k, err := parsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return k, nil
}

func parsePublicKey(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New("it has no PEM block PUBLIC KEY; `openssl pkey -in key.pem -pubout` prints that of a private key")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return newKey(nil, key)
}

func newKey(private crypto.Signer, public crypto.PublicKey) (*Key, error) {
	k := &Key{private: private, public: public}
	switch p := public.(type) {
	case ed25519.PublicKey:
		k.signer.Algorithm = "ed25519"
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return nil, fmt.Errorf("a key on the curve %s: want P-256", p.Curve.Params().Name)
		}
		k.signer.Algorithm = "ecdsa-p256"
	default:
		return nil, fmt.Errorf("a key of the type %T: want Ed25519, or ECDSA on P-256", public)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	k.der, k.signer.Fingerprint = der, digestOf(der)
	return k, nil
}

// Signer describes the key.
func (k *Key) Signer() *bundle.Signer { s := k.signer; return &s }

// PEM returns the public key as a PEM file.
func (k *Key) PEM() []byte { return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.der}) }

// Public returns the public key.
func (k *Key) Public() crypto.PublicKey { return k.public }

// KeyID returns the fingerprint.
func (k *Key) KeyID() (string, error) { return k.signer.Fingerprint, nil }

// Sign signs: Ed25519 the data itself, ECDSA its SHA-256 digest, in ASN.1.
func (k *Key) Sign(_ context.Context, data []byte) ([]byte, error) {
	switch key := k.private.(type) {
	case ed25519.PrivateKey:
		return ed25519.Sign(key, data), nil
	case *ecdsa.PrivateKey:
		sum := sha256.Sum256(data)
		return ecdsa.SignASN1(rand.Reader, key, sum[:])
	}
	return nil, errors.New("a public key does not sign")
}

// Verify checks a signature of Sign.
func (k *Key) Verify(_ context.Context, data, sig []byte) error {
	ok := false
	switch key := k.public.(type) {
	case ed25519.PublicKey:
		ok = ed25519.Verify(key, data, sig)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(data)
		ok = ecdsa.VerifyASN1(key, sum[:], sig)
	}
	if !ok {
		return errors.New("the signature is not of this key")
	}
	return nil
}

var _ dsse.SignerVerifier = (*Key)(nil)
