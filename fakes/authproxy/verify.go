package authproxy

import (
	"errors"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"assay/fakes/issuer"
)

// maxToken limits a token. Ours have about 500 bytes.
const maxToken = 16 << 10

// Reasons for which a token is invalid, beside those of package jwt.
var (
	errTooLong  = errors.New("it is too long")
	errNoKid    = errors.New("it names no key")
	errKid      = errors.New("it names an unknown key")
	errAlg      = errors.New("its algorithm is not that of its key")
	errCritical = errors.New("it has a critical extension")
	errNoUser   = errors.New("it names no user")
)

// user is whom a valid token names.
type user struct {
	name   string
	scopes []string
}

// has reports whether a user has a scope.
func (u user) has(scope string) bool {
	return slices.Contains(u.scopes, scope) || slices.Contains(u.scopes, issuer.ScopeAdmin)
}

// claims are those of a token that are read.
type claims struct {
	jwt.RegisteredClaims

	Scope string `json:"scope"` // separated by spaces (RFC 9068)
}

// verifier checks tokens.
type verifier struct {
	key    func(id string) (alg string, public any, ok bool)
	parser *jwt.Parser
}

func newVerifier(o Options) *verifier {
	return &verifier{
		key: o.Issuer.Key,
		parser: jwt.NewParser(jwt.WithValidMethods([]string{issuer.ES256, issuer.RS256}), jwt.WithIssuer(o.Issuer.URL()), jwt.WithAudience(issuer.Audience),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(o.Now)),
	}
}

// verify returns the user of a token.
func (v *verifier) verify(token string) (user, error) {
	if len(token) > maxToken {
		return user{}, errTooLong
	}
	var c claims
	_, err := v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok {
			return nil, errCritical // none is understood (RFC 7515, section 4.1.11)
		}
		kid, _ := t.Header["kid"].(string)
		if kid == "" {
			return nil, errNoKid
		}
		alg, public, ok := v.key(kid)
		if !ok {
			return nil, errKid
		}
		if t.Method.Alg() != alg {
			return nil, errAlg
		}
		return public, nil
	})
	if err != nil {
		return user{}, err
	}
	if c.Subject == "" {
		return user{}, errNoUser
	}
	return user{name: c.Subject, scopes: strings.Fields(c.Scope)}, nil
}

// reason describes why a token is invalid in words that are never taken from the token.
func reason(err error) string {
	for _, known := range []error{
		errTooLong, errNoKid, errKid, errAlg, errCritical, errNoUser,
		jwt.ErrTokenExpired, jwt.ErrTokenNotValidYet, jwt.ErrTokenUsedBeforeIssued, jwt.ErrTokenInvalidAudience, jwt.ErrTokenInvalidIssuer,
		jwt.ErrTokenRequiredClaimMissing, jwt.ErrTokenSignatureInvalid, jwt.ErrTokenMalformed,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "it is invalid"
}
