package issuer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The scopes of a token.
const (
	ScopeConnect = "sandbox:connect"
	ScopeExec    = "sandbox:exec"
	ScopeAdmin   = "sandbox:admin"
)

// Audience is the claim aud of all tokens.
const Audience = "assay-sandbox"

// Defaults of Spec.
const (
	DefaultLife    = 5 * time.Minute
	DefaultSubject = "alice"
)

// overlap is how long the keys before a rotation stay valid: a token of the default life does not outlive its key.
const overlap = 2 * DefaultLife

// The algorithms of signatures.
const (
	ES256 = "ES256"
	RS256 = "RS256"
)

// Options configure an issuer.
type Options struct {
	// URL is the identifier of the issuer: the claim iss, and the base of its endpoints. Start sets it.
	URL string
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// complete fills in defaults and validates the options.
func (o *Options) complete() error {
	if o.URL == "" {
		return errors.New("an issuer needs a URL")
	}
	o.URL = strings.TrimRight(o.URL, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Issuer signs tokens. Its methods may be called from any goroutine.
type Issuer struct {
	o Options

	mu   sync.Mutex
	keys []key // the newest of each algorithm first

	server *http.Server
	served chan struct{}
}

// New returns an issuer that does not listen; Handler serves its endpoints.
func New(o Options) (*Issuer, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	i := &Issuer{o: o}
	return i, i.Rotate()
}

// URL returns the identifier of the issuer.
func (i *Issuer) URL() string { return i.o.URL }

// Spec describes a token. The zero value is a token of DefaultSubject with ScopeConnect and ScopeExec.
type Spec struct {
	Subject string        // the user; default DefaultSubject
	Scopes  []string      // nil: ScopeConnect and ScopeExec; empty: none
	Alg     string        // ES256 (the default) or RS256
	Life    time.Duration // default DefaultLife
}

// Mint returns a valid token.
func (i *Issuer) Mint(s Spec) (string, error) {
	d, err := i.draft(s)
	if err != nil {
		return "", err
	}
	return d.sign()
}

// draft is a token before it is signed.
type draft struct {
	jwt    *jwt.Token
	claims jwt.MapClaims // those of jwt
	key    any           // signs the token
	now    time.Time
	issuer *Issuer
	edit   func(text string) string // changes the signed token, unless nil
}

// draft returns the draft of a valid token.
func (i *Issuer) draft(s Spec) (*draft, error) {
	if s.Subject == "" {
		s.Subject = DefaultSubject
	}
	if s.Scopes == nil {
		s.Scopes = []string{ScopeConnect, ScopeExec}
	}
	if s.Alg == "" {
		s.Alg = ES256
	}
	if s.Life == 0 {
		s.Life = DefaultLife
	}
	k, err := i.current(s.Alg)
	if err != nil {
		return nil, err
	}
	now := i.o.Now()
	claims := jwt.MapClaims{
		"iss": i.o.URL, "aud": Audience, "sub": s.Subject, "scope": strings.Join(s.Scopes, " "), "jti": rand.Text(),
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(s.Life).Unix(),
	}
	t := jwt.NewWithClaims(jwt.GetSigningMethod(s.Alg), claims)
	t.Header["kid"] = k.id
	return &draft{jwt: t, claims: claims, key: k.private, now: now, issuer: i}, nil
}

// sign returns the token.
func (d *draft) sign() (string, error) {
	text, err := d.jwt.SignedString(d.key)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	if d.edit != nil {
		text = d.edit(text)
	}
	return text, nil
}

// use signs with another algorithm and key; the header keeps the key's id.
func (d *draft) use(m jwt.SigningMethod, key any) {
	d.jwt.Method, d.key = m, key
	d.jwt.Header["alg"] = m.Alg()
}
