package gateway

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"assay/fakes/strict"

	"connectrpc.com/connect"
)

// defaultUser is the user of requests that name none.
const defaultUser = "root"

// userKey is the key of the user in a request's context.
type userKey struct{}

// userOf returns the user that a request runs as.
func userOf(ctx context.Context) string {
	if u, ok := ctx.Value(userKey{}).(string); ok {
		return u
	}
	return defaultUser
}

// authorizer checks the token and picks the user. Both failures are
// unauthenticated errors, in the format of the surface.
type authorizer struct{ *settings }

// checkToken checks X-Access-Token.
func (a authorizer) checkToken(r *http.Request) error {
	token := a.Token()
	if token == "" {
		return nil
	}
	got := r.Header.Get("X-Access-Token")
	if subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1 {
		return nil
	}
	return connect.NewError(connect.CodeUnauthenticated, errors.New("unauthorized access: X-Access-Token is missing or wrong"))
}

// admit checks the token and picks the user.
func (a authorizer) admit(r *http.Request) (*http.Request, error) {
	if err := a.checkToken(r); err != nil {
		return nil, err
	}
	return a.identify(r)
}

// identify returns r with its user: that of its Basic authorization, or the default.
func (a authorizer) identify(r *http.Request) (*http.Request, error) {
	r, err := WithUser(r)
	if err != nil || r.Context().Value(userKey{}) != nil {
		return r, err
	}
	return as(r, a.User())
}

// over puts the authorization in front of a surface that is not RPC.
func (a authorizer) over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, err := a.admit(r)
		if err != nil {
			strict.WriteError(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// WithUser returns r with the user of its Basic authorization; the password is
// ignored. If the authorization is missing, undecodable or of another scheme,
// the user is the default one, as in the real daemon.
func WithUser(r *http.Request) (*http.Request, error) {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return r, nil
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	name, _, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return r, nil
	}
	return as(r, name)
}

// as returns r with a user.
func as(r *http.Request, name string) (*http.Request, error) {
	if name != "root" && name != "user" {
		return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("invalid username: '%s'", name))
	}
	return r.WithContext(context.WithValue(r.Context(), userKey{}, name)), nil
}
