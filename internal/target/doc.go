// Package target describes the gateway under test: its URL and the paths of its surfaces,
// the headers of a well-formed request, whether it is reachable and a gateway at all, its
// pace, and its features.
//
// It makes a few well-formed calls and reports the observations. It does not judge whether
// a response follows the rules.
package target
