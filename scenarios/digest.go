package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// Digest returns the digest of the embedded catalogue, as "sha256:HEX": that of a list of its rules, scenarios and
// profiles as sha256sum prints it, sorted by the bytes of the names.
func Digest() (string, error) { return digestOnce() }

var digestOnce = sync.OnceValues(func() (string, error) {
	var names []string
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		found, err := fs.Glob(embedded, pattern)
		if err != nil {
			return "", err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		text, err := embedded.ReadFile(name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(text), name) // a hash never fails
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
})
