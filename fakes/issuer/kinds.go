package issuer

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Kind is a kind of token that a gateway has to refuse. It is wrong in one way, and right in all others.
type Kind struct {
	Name, Title string
	Status      int // of the refusal: 401, or 403 for a token that is valid
}

// kind is a Kind and the function that makes a draft wrong.
type kind struct {
	Kind
	spoil func(d *draft) error
}

// Kinds lists the kinds of bad tokens.
func Kinds() []Kind {
	var out []Kind
	for _, k := range kinds() {
		out = append(out, k.Kind)
	}
	return out
}

// MintBad returns a token of a kind. The error of an unknown kind lists the known ones.
func (i *Issuer) MintBad(name string, s Spec) (string, error) {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.Name)
		if k.Name != name {
			continue
		}
		d, err := i.draft(s)
		if err != nil {
			return "", err
		}
		if err := k.spoil(d); err != nil {
			return "", err
		}
		return d.sign()
	}
	return "", fmt.Errorf("kind %q: want one of %s", name, strings.Join(names, ", "))
}

// invalid describes a token that no gateway accepts.
func invalid(name, title string, spoil func(d *draft) error) kind {
	return kind{Kind{name, title, http.StatusUnauthorized}, spoil}
}

// claim sets a claim.
func claim(name string, value func(d *draft) any) func(d *draft) error {
	return func(d *draft) error {
		d.claims[name] = value(d)
		return nil
	}
}

// without leaves a claim out.
func without(name string) func(d *draft) error {
	return func(d *draft) error {
		delete(d.claims, name)
		return nil
	}
}

// header sets a field of the header.
func header(name string, value any) func(d *draft) error {
	return func(d *draft) error {
		d.jwt.Header[name] = value
		return nil
	}
}

// edited changes the signed token.
func edited(edit func(text string) string) func(d *draft) error {
	return func(d *draft) error {
		d.edit = edit
		return nil
	}
}

func kinds() []kind {
	past := func(d *draft) any { return d.now.Add(-time.Second).Unix() }
	later := func(d *draft) any { return d.now.Add(time.Minute).Unix() }
	return []kind{
		invalid("expired", "it expired a second ago", claim("exp", past)),
		invalid("not-yet-valid", "it is valid in a minute (nbf)", claim("nbf", later)),
		invalid("issued-later", "it was issued in the future (iat)", claim("iat", later)),
		invalid("no-expiry", "it never expires", without("exp")),
		invalid("no-subject", "it names no user", without("sub")),
		invalid("wrong-audience", "it is meant for another service", claim("aud", func(*draft) any { return "another-service" })),
		invalid("no-audience", "it names no audience", without("aud")),
		invalid("wrong-issuer", "it names another issuer", claim("iss", func(*draft) any { return "https://issuer.example" })),
		invalid("no-issuer", "it names no issuer", without("iss")),
		invalid("alg-none", "it has no signature, and says so", unsigned),
		invalid("hs256-public-key", "it is signed with HMAC, and the public key is the secret", hmacOfPublicKey),
		invalid("swapped-alg", "its algorithm is not that of the key that it names", swapped),
		invalid("unknown-kid", "the issuer has no key of this id", header("kid", "nobody")),
		invalid("no-kid", "it names no key", withoutKid),
		invalid("foreign-key", "it is signed by somebody else's key, under the id of the issuer's", foreignKey),
		invalid("embedded-key", "it brings its own key (jwk)", embeddedKey),
		invalid("critical-header", "it has an extension that must be understood (crit)", header("crit", []string{"urn:assay:unknown"})),
		invalid("altered", "its claims were changed after it was signed", edited(altered)),
		invalid("cut", "its signature is cut off", edited(func(text string) string { return text[:strings.LastIndex(text, ".")+1] })),
		invalid("garbage", "it is no JWT", edited(func(string) string { return "garbage" })),
		{
			Kind{"missing-scope", "it is valid, and has no scope", http.StatusForbidden},
			claim("scope", func(*draft) any { return "" }),
		},
	}
}

// unsigned makes a token without a signature.
func unsigned(d *draft) error {
	d.use(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType)
	return nil
}

// hmacOfPublicKey makes a token for a gateway that takes the algorithm from the token: it uses the public key of RS256 as the secret of
// HS256.
func hmacOfPublicKey(d *draft) error {
	k, err := d.issuer.current(RS256)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	d.use(jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	d.jwt.Header["kid"] = k.id
	return nil
}

// swapped signs with the key of the other algorithm.
func swapped(d *draft) error {
	other := RS256
	if d.jwt.Method.Alg() == RS256 {
		other = ES256
	}
	k, err := d.issuer.current(other)
	d.use(jwt.GetSigningMethod(other), k.private)
	return err
}

func withoutKid(d *draft) error {
	delete(d.jwt.Header, "kid")
	return nil
}

func foreignKey(d *draft) error {
	k, err := newKey(d.jwt.Method.Alg())
	d.key = k.private
	return err
}

// embeddedKey signs with a new key, which the header holds.
func embeddedKey(d *draft) error {
	k, err := newKey(d.jwt.Method.Alg())
	if err != nil {
		return err
	}
	d.key = k.private
	d.jwt.Header["jwk"], err = k.public()
	return err
}

// altered gives the token to another user.
func altered(text string) string {
	parts := strings.Split(text, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "altered"
	}
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(claims), `"sub":"`, `"sub":"not-`, 1)))
	return strings.Join(parts, ".")
}
