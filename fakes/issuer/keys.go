package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// rsaBits is the size of an RSA key: the least that RFC 7518 allows.
const rsaBits = 2048

// key is a pair of keys.
type key struct {
	id, alg string
	private crypto.Signer
	until   time.Time // when it ends; zero for a key in use
}

// newKey makes a pair of keys.
func newKey(alg string) (k key, err error) {
	k = key{id: rand.Text()[:8], alg: alg}
	if alg == RS256 {
		k.private, err = rsa.GenerateKey(rand.Reader, rsaBits)
	} else {
		k.private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		return key{}, fmt.Errorf("make a key: %w", err)
	}
	return k, nil
}

// Rotate replaces the keys that sign. The previous ones stay published for twice DefaultLife.
func (i *Issuer) Rotate() error {
	var fresh []key
	for _, alg := range []string{ES256, RS256} {
		k, err := newKey(alg)
		if err != nil {
			return err
		}
		fresh = append(fresh, k)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := range i.keys {
		if i.keys[n].until.IsZero() {
			i.keys[n].until = i.o.Now().Add(overlap)
		}
	}
	i.keys = append(fresh, i.keys...)
	return nil
}

// valid returns the keys that have not ended.
func (i *Issuer) valid() []key {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.o.Now()
	i.keys = slices.DeleteFunc(i.keys, func(k key) bool { return !k.until.IsZero() && !now.Before(k.until) })
	return slices.Clone(i.keys)
}

// Key returns a published key and the one algorithm that it verifies.
func (i *Issuer) Key(id string) (alg string, public any, ok bool) {
	for _, k := range i.valid() {
		if k.id == id {
			return k.alg, k.private.Public(), true
		}
	}
	return "", nil, false
}

// current returns the key that signs with an algorithm.
func (i *Issuer) current(alg string) (key, error) {
	for _, k := range i.valid() {
		if k.alg == alg {
			return k, nil
		}
	}
	return key{}, fmt.Errorf("algorithm %q: want %s or %s", alg, ES256, RS256)
}

// jwk is a public key as RFC 7517 writes it.
type jwk struct {
	Kty string `json:"kty"`
	Use string `json:"use"`
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Crv string `json:"crv,omitempty"`
	X   string `json:"x,omitempty"`
	Y   string `json:"y,omitempty"`
	N   string `json:"n,omitempty"`
	E   string `json:"e,omitempty"`
}

// public returns the public key.
func (k key) public() (jwk, error) {
	out := jwk{Use: "sig", Alg: k.alg, Kid: k.id}
	encode := base64.RawURLEncoding.EncodeToString
	switch public := k.private.Public().(type) {
	case *rsa.PublicKey:
		out.Kty, out.N, out.E = "RSA", encode(public.N.Bytes()), encode(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, X, Y
		if err != nil {
			return jwk{}, fmt.Errorf("encode a key: %w", err)
		}
		half := len(point) / 2
		out.Kty, out.Crv, out.X, out.Y = "EC", "P-256", encode(point[1:1+half]), encode(point[1+half:])
	}
	return out, nil
}
