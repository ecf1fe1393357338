// Package issuer is an issuer of tokens to test against: an OpenID Connect provider without users and without a login.
//
// It publishes a discovery document and its keys, rotates the keys, and signs JWTs with the scopes of a sandbox. Whoever asks gets a
// token; so it listens on a loopback address only. It also makes tokens that are wrong in one way each (Kinds), which a gateway has to
// refuse.
//
// It does not check tokens; package authproxy does, and uses nothing of this package but the names of the scopes.
package issuer
