package authproxy

import (
	"net/http"
	"net/url"
	"strings"
)

// tokenParameter is the query parameter of a token: a browser sets no header of a WebSocket.
const tokenParameter = "token"

// tokenOf returns the token of a request, or "". The parameter wins over the header, also when it is empty.
func tokenOf(r *http.Request, query url.Values) string {
	if query.Has(tokenParameter) {
		return query.Get(tokenParameter)
	}
	token, _ := bearer(r.Header.Get("Authorization"))
	return token
}

// bearer returns the token of an Authorization header of the scheme Bearer.
func bearer(authorization string) (token string, ok bool) {
	scheme, rest, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// withoutToken returns a copy of a request without its tokens, for the handler behind the proxy. Everything else stays byte for byte.
func withoutToken(r *http.Request) *http.Request {
	out := new(http.Request)
	*out = *r
	out.URL = new(url.URL)
	*out.URL = *r.URL
	out.Header = r.Header.Clone()
	out.URL.RawQuery = cut(r.URL.RawQuery)
	out.URL.ForceQuery = false
	out.RequestURI = out.URL.RequestURI()
	var rest []string
	for _, v := range out.Header.Values("Authorization") {
		if _, ok := bearer(v); !ok {
			rest = append(rest, v)
		}
	}
	if out.Header.Del("Authorization"); rest != nil {
		out.Header["Authorization"] = rest
	}
	if page, err := url.Parse(out.Header.Get("Referer")); err != nil || page.Query().Has(tokenParameter) {
		out.Header.Del("Referer") // a page whose own address has the token
	}
	return out
}

// cut removes the token from a query.
func cut(query string) string {
	var rest []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && plain == tokenParameter {
			continue
		}
		rest = append(rest, pair)
	}
	return strings.Join(rest, "&")
}
