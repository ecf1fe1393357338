package load

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// CheckKind is how output is checked.
type CheckKind uint8

// The checks.
const (
	// CheckNone checks nothing.
	CheckNone CheckKind = iota
	// CheckSequence compares every line of every stream with a sequence of numbers.
	CheckSequence
	// CheckSame compares the output of every stream that ends by itself with that of the
	// first one.
	CheckSame
	// CheckDigest compares the SHA-256 of the output of every stream that ends by itself.
	CheckDigest
)

// Check is the check of the output (stdout, or that of a PTY) of every stream.
// The zero value checks nothing.
type Check struct {
	Kind CheckKind
	// First is the number on the first line of a sequence.
	First uint64
	// Lines is how many lines a sequence has when its command ends by itself; 0 is any number.
	Lines uint64
	// Digest is the wanted SHA-256.
	Digest [sha256.Size]byte
}

// ParseExpect reads the value of --expect: same, none or sha256:HEX.
func ParseExpect(text string) (Check, error) {
	switch text {
	case "same":
		return Check{Kind: CheckSame}, nil
	case "none":
		return Check{Kind: CheckNone}, nil
	}
	digits, ok := strings.CutPrefix(text, "sha256:")
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size {
		return Check{}, fmt.Errorf("expect %q: want same, none, or sha256: with 64 hexadecimal digits", text)
	}
	return Check{Kind: CheckDigest, Digest: [sha256.Size]byte(sum)}, nil
}
