package files

import (
	"net/http"
	"strings"

	"connectrpc.com/connect"
)

// The limits of metadata are those of extended attributes, in which the daemon
// keeps it: a name of 255 bytes with its prefix, and one block for all.
const (
	metadataHeader = "X-Metadata-"
	metadataPrefix = len("user.e2b.")
	maxKey         = 255 - metadataPrefix
	maxMetadata    = 4096
)

// readMetadata returns the metadata of an upload: X-Metadata-KEY: VALUE. Keys are
// lower case; of a repeated field the first counts.
func readMetadata(h http.Header) (map[string]string, error) {
	var pairs map[string]string
	total := 0
	for name, values := range h {
		key, found := strings.CutPrefix(name, metadataHeader)
		if !found || key == "" || len(values) == 0 {
			continue
		}
		key, value := strings.ToLower(key), strings.TrimSpace(values[0])
		switch total += metadataPrefix + len(key) + len(value); {
		case len(key) > maxKey:
			return nil, problem(connect.CodeInvalidArgument, "metadata key %.40s… is longer than %d bytes", key, maxKey)
		case !isPrintable(key + value):
			return nil, problem(connect.CodeInvalidArgument, "metadata %q is not printable ASCII", key)
		case total > maxMetadata:
			return nil, problem(connect.CodeInvalidArgument, "the metadata needs more than %d bytes", maxMetadata)
		}
		if pairs == nil {
			pairs = map[string]string{}
		}
		pairs[key] = value
	}
	return pairs, nil
}

// isPrintable reports whether s is printable ASCII.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
