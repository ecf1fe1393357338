package wire

import "bytes"

// isToken reports whether s is a token (RFC 9110, section 5.6.2), the syntax of header
// names and metadata keys.
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}

// isFieldValue reports whether p has only the characters of a field value (RFC 9110,
// section 5.5): visible ASCII, space, tab and bytes from 0x80.
func isFieldValue(p []byte) bool {
	for _, c := range p {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// trimOWS removes optional white space at both ends.
func trimOWS(p []byte) []byte { return bytes.Trim(p, " \t") }
