package target

import (
	"encoding/base64"
	"strings"

	"assay/internal/record/bundle"
)

// Secrets returns the strings of the options that must be neither recorded nor printed: the
// token, the API key, and of the extra headers, except those that isOpen accepts, the values, the
// credentials behind their scheme ("Bearer …"), the passwords of Basic credentials and the
// values of the cookies.
func (o *Options) Secrets() []string {
	var secrets []string
	if o.Token != "" {
		secrets = append(secrets, o.Token)
	}
	if o.Unsent != "" {
		secrets = append(secrets, o.Unsent)
	}
	if o.Control.APIKey != "" {
		secrets = append(secrets, o.Control.APIKey)
	}
	for _, h := range o.Headers {
		if h.Value != "" && !isOpen(h) {
			secrets = append(secrets, secretsIn(h)...)
		}
	}
	return secrets
}

// secretsIn returns the value of a header and the secrets in it.
func secretsIn(h bundle.Header) []string {
	secrets := []string{h.Value}
	if strings.EqualFold(h.Name, "cookie") {
		for cookie := range strings.SplitSeq(h.Value, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(cookie), "=")
			if value = strings.Trim(value, `"`); value != "" && (suggestsSecret(name) || len(value) >= leastPlain) {
				secrets = append(secrets, value)
			}
		}
		return secrets
	}
	scheme, credential, ok := strings.Cut(h.Value, " ")
	credential = strings.TrimSpace(credential)
	if !ok || credential == "" {
		return secrets
	}
	secrets = append(secrets, credential)
	if pair, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.EqualFold(scheme, "basic") {
		secrets = append(secrets, string(pair))
		if _, password, _ := strings.Cut(string(pair), ":"); password != "" {
			secrets = append(secrets, password)
		}
	}
	return secrets
}

// leastPlain is the minimum length of a secret under a name that does not suggest one:
// overwriting every "true" or "1.0" would destroy the records.
const leastPlain = 8

// suggestsSecret reports whether a name is one of a credential.
func suggestsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "cookie", "token", "key", "secret", "pass", "credential", "signature", "session", "jwt"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// isOpen reports whether the value of an extra header may be recorded: it belongs to a
// well-known header, or it is short and its name does not suggest a credential.
func isOpen(h bundle.Header) bool {
	if suggestsSecret(h.Name) {
		return false
	}
	name := strings.ToLower(h.Name)
	for _, known := range []string{"accept", "content-", "user-agent", "x-request-id", "traceparent", "tracestate", "e2b-sandbox-", "host", "origin", "referer", "cache-control", "x-forwarded-"} {
		if strings.HasPrefix(name, known) {
			return true
		}
	}
	return len(h.Value) < leastPlain
}
