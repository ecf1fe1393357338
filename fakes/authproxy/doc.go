// Package authproxy checks tokens in front of a gateway.
//
// A Proxy stands in front of a handler (Over) and of its WebSocket upgrades. It admits a
// request whose token is valid and has the scope that the request needs, and limits what one user may do. docs/auth.md lists the answers
// and what the protocol leaves open.
//
// It contains the check of tokens, the keys of the issuer, and the limits. It knows no faults, and nothing of the handler behind it but
// the paths in DefaultNeeds.
package authproxy
