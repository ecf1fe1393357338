package authproxy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	"assay/fakes/issuer"
)

const (
	// refetchAfter is the least time between two attempts to fetch the keys, whatever tokens name.
	refetchAfter = time.Minute
	// keysAge is how long fetched keys are used, so that a key that the issuer withdraws ends here too.
	keysAge = 5 * time.Minute
	// maxDocument limits a document of the issuer.
	maxDocument = 1 << 20
	// The sizes of RSA keys: below is unsafe, above takes long.
	minRSABits, maxRSABits = 2048, 8192
)

// errNoKeys is the error while no keys of the issuer are known.
var errNoKeys = errors.New("no keys of the issuer are known")

// publicKey is a key of the issuer and the one algorithm that it verifies.
type publicKey struct {
	alg    string
	public any
}

// keys are the public keys of an issuer, by their ids.
type keys struct {
	issuer string
	client *http.Client
	now    func() time.Time

	fetching sync.Mutex // held during a fetch
	tried    time.Time  // the last attempt

	mu      sync.Mutex
	byID    map[string]publicKey
	fetched time.Time
	err     error // of the last attempt
}

// find returns a key. It fetches the keys if they are old, or the id is unknown, at most once a minute.
func (k *keys) find(ctx context.Context, id string) (publicKey, error) {
	if key, err := k.cached(id); err == nil {
		return key, nil
	}
	k.fetching.Lock()
	defer k.fetching.Unlock()
	key, err := k.cached(id) // perhaps fetched meanwhile
	if err == nil || !k.tried.IsZero() && k.now().Sub(k.tried) < refetchAfter {
		return key, err
	}
	k.tried = k.now()
	// A client that gives up must not spend the attempt of all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	byID, err := k.fetch(ctx)
	k.mu.Lock()
	if k.err = err; err == nil {
		k.byID, k.fetched = byID, k.now()
	}
	k.mu.Unlock()
	return k.cached(id)
}

// cached returns a key that is known.
func (k *keys) cached(id string) (publicKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil || k.now().Sub(k.fetched) >= keysAge {
		if k.err != nil {
			return publicKey{}, fmt.Errorf("%w: %w", errNoKeys, k.err)
		}
		return publicKey{}, errNoKeys
	}
	key, ok := k.byID[id]
	if !ok {
		return publicKey{}, errKid
	}
	return key, nil
}

// fetch asks the issuer where its keys are, and for the keys.
func (k *keys) fetch(ctx context.Context) (map[string]publicKey, error) {
	var discovery struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := k.get(ctx, k.issuer+"/.well-known/openid-configuration", &discovery); err != nil {
		return nil, err
	}
	if discovery.Issuer != k.issuer {
		return nil, fmt.Errorf("the discovery document of %s is that of %s", k.issuer, discovery.Issuer)
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := k.get(ctx, discovery.Keys, &set); err != nil {
		return nil, err
	}
	byID := map[string]publicKey{}
	for _, j := range set.Keys {
		key, err := j.key()
		if _, twice := byID[j.Kid]; err == nil && j.Kid != "" && !twice { // others are of no use here
			byID[j.Kid] = key
		}
	}
	return byID, nil
}

// get reads a JSON document.
func (k *keys) get(ctx context.Context, url string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers with %s", url, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// jwk is a public key as RFC 7517 writes it.
type jwk struct {
	Kty string   `json:"kty"`
	Use string   `json:"use"`
	Ops []string `json:"key_ops"`
	Alg string   `json:"alg"`
	Kid string   `json:"kid"`
	Crv string   `json:"crv"`
	X   string   `json:"x"`
	Y   string   `json:"y"`
	N   string   `json:"n"`
	E   string   `json:"e"`
}

// key returns the key. The algorithm follows from the type of the key, never from a token.
func (j jwk) key() (k publicKey, err error) {
	switch {
	case j.Use != "" && j.Use != "sig" || j.Ops != nil && !slices.Contains(j.Ops, "verify"):
		return k, errors.New("it is not for signatures")
	case j.Kty == "EC" && j.Crv == "P-256":
		k.alg = issuer.ES256
		k.public, err = j.point()
	case j.Kty == "RSA":
		k.alg = issuer.RS256
		k.public, err = j.rsa()
	default:
		return k, fmt.Errorf("type %q %q", j.Kty, j.Crv)
	}
	if err == nil && j.Alg != "" && j.Alg != k.alg {
		err = fmt.Errorf("algorithm %q", j.Alg)
	}
	return k, err
}

// point returns the key of an elliptic curve; both coordinates have full length.
func (j jwk) point() (*ecdsa.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(j.X)
	y, errY := base64.RawURLEncoding.DecodeString(j.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
}

// rsa returns an RSA key of a size that can be used.
func (j jwk) rsa() (*rsa.PublicKey, error) {
	n, errN := base64.RawURLEncoding.DecodeString(j.N)
	e, errE := base64.RawURLEncoding.DecodeString(j.E)
	if err := errors.Join(errN, errE); err != nil {
		return nil, err
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n)}
	exponent := new(big.Int).SetBytes(e)
	if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits || exponent.BitLen() > 31 || exponent.Bit(0) == 0 || exponent.BitLen() < 2 {
		return nil, errors.New("its size cannot be used")
	}
	key.E = int(exponent.Int64())
	return key, nil
}
