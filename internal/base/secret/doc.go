// Package secret overwrites secrets in bytes that are about to be written: recorded,
// printed or logged.
//
// A Redactor is built once per run from all its secrets. It finds each of them verbatim and
// in the encodings in which a peer may echo it (see Redactor), and keeps every length, so
// that offsets stay valid.
//
// The package is pure. Which values are secret is decided elsewhere (package target), and
// so is where the bytes go.
package secret
