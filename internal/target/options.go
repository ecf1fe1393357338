package target

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
)

// Options identify the target and how to reach it.
type Options struct {
	// URL is the base URL, http or https; its path is a prefix of every surface. A ws or wss URL
	// is that of the stdio surface itself, with an optional query; the other surfaces are
	// beside it.
	URL string
	// Via is the host:port to connect to instead of that of the URL, such as a proxy that passes on bytes; "" is that of the
	// URL. Host, SNI and the checked name of the certificate stay those of the URL.
	Via string
	// CACert holds the PEM certificates of the authorities to trust for https, instead of
	// the system's.
	CACert []byte
	// Insecure disables verification of the certificate.
	Insecure bool
	// Paths maps the ids of surfaces to their paths below the base; absent surfaces have their default.
	Paths map[string]string
	// Shell holds the words in front of a command; default /bin/sh -c, or the shell that
	// Calibrate finds if the target refuses that.
	Shell []string
	// Token is sent in the header of TokenScheme when it is set.
	Token string
	// TokenScheme is one of TokenSchemes; "" is the first. The stdio surface always gets Authorization: Bearer.
	TokenScheme string
	// Unsent is a token that the user gave and nothing sends, because each sandbox has its own. It is a secret too.
	Unsent string
	// User is sent as Basic user, with an empty password, when it is set.
	User string
	// Headers are added to every request.
	Headers []bundle.Header
	// Open are added like Headers, and after them; none of their values is a secret.
	Open []bundle.Header
	// TimeScale multiplies every deadline; 0 means 1.
	TimeScale float64
	// UserAgent is assay/VERSION; each request appends scenario and run.
	UserAgent string
	// Memory bounds what the recorders of NewRecorder keep, all together; nil is no bound.
	Memory *transport.Memory
	// Gateway says whether the target must be a sandbox gateway.
	Gateway Demand
	// Knock is a path, below that of the URL, that a plain HTTP server responds to with GET, for
	// one that does not respond at the URL itself.
	Knock string
	// Control is the control plane of the target; the zero value is one at the URL itself.
	Control Control
	// Embedded is set when the target is the reference gateway of this process.
	Embedded bool
}

// The headers that can carry the access token: X-Access-Token: TOKEN, or Authorization: Bearer TOKEN.
const (
	schemeAccessToken = tokenHeader
	schemeBearer      = "bearer"
)

// TokenSchemes lists the values of Options.TokenScheme, the default first.
func TokenSchemes() []string { return []string{schemeAccessToken, schemeBearer} }

// checkToken reports a token that cannot be sent as the options say.
func (o *Options) checkToken() error {
	switch {
	case o.TokenScheme != "" && !slices.Contains(TokenSchemes(), o.TokenScheme):
		return fmt.Errorf("no token scheme %q: the schemes are %s", o.TokenScheme, strings.Join(TokenSchemes(), ", "))
	case o.TokenScheme == schemeBearer && o.Token != "" && o.User != "":
		return errors.New("the user and a bearer token both need the header Authorization: leave out --user, or use --token-scheme " + schemeAccessToken)
	}
	return nil
}

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeWS    = "ws"
	schemeWSS   = "wss"
)

// IsSocketURL reports whether a URL is that of a WebSocket.
func IsSocketURL(text string) bool {
	return strings.HasPrefix(text, schemeWS+"://") || strings.HasPrefix(text, schemeWSS+"://")
}

// errUserinfo refuses a URL with a user name or password, which no message quotes.
var errUserinfo = errors.New("the URL contains a user name or password: remove it and use --user and --token-file")

// parseURL parses the base URL. Every error suggests a correction, and none quotes what may be a secret.
func parseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("no URL: write http://HOST:PORT")
	}
	shown, _, _ := strings.Cut(text, "?")
	if !strings.Contains(text, "://") {
		if strings.Contains(text, "@") {
			return nil, errUserinfo
		}
		return nil, fmt.Errorf("URL %q has no scheme: write http://%s", shown, strings.TrimLeft(shown, "/"))
	}
	u, err := url.Parse(text)
	if err != nil {
		if strings.Contains(text, "@") { // the error quotes a password with a slash as the port
			return nil, errUserinfo
		}
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the text, which may contain a password
		}
		return nil, fmt.Errorf("invalid URL: %w; write http://HOST:PORT", err)
	}
	if IsSocketURL(text) {
		if err := checkSocketQuery(u); err != nil {
			return nil, err
		}
		u.Scheme = map[string]string{schemeWS: schemeHTTP, schemeWSS: schemeHTTPS}[u.Scheme]
	}
	switch {
	case u.User != nil:
		return nil, errUserinfo
	case u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS:
		return nil, fmt.Errorf("URL %q has the scheme %q: only http, https, ws and wss can be tested", shown, u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("URL %q has no host: write http://HOST:PORT", shown)
	case !IsSocketURL(text) && (u.RawQuery != "" || u.ForceQuery) || u.Fragment != "":
		return nil, errors.New("the URL has a query or fragment: only a path prefix may follow the host")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("URL %q has the port %s: ports are 1 to 65535", shown, p)
		}
	}
	return u, nil
}

// IsSecureURL reports whether a URL needs TLS.
func IsSecureURL(text string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(text), "://")
	return scheme == schemeHTTPS || scheme == schemeWSS
}

// checkSocketQuery checks the query of a ws URL.
func checkSocketQuery(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return fmt.Errorf("the query of the URL is malformed: %w; write it as name=value&name=value", err)
	}
	switch {
	case query.Has("token"):
		return errors.New("the query of the URL contains a token: remove it and use --token-file")
	case query.Has("cmd") || query.Has("arg"):
		return errors.New("the query of the URL contains cmd or arg: remove them, because Assay runs commands of its own")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if suggestsSecret(name) {
			return fmt.Errorf("the query of the URL has %q, which looks like a credential: remove it and use --token-file or --header-file", name)
		}
	}
	return nil
}

// dialAddr returns host:port of the URL.
func dialAddr(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == schemeHTTPS:
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// resolvePaths overrides the default paths with the given ones.
func resolvePaths(given map[string]string) (map[string]string, error) {
	paths := map[string]string{}
	for _, id := range surface.IDs() {
		paths[id] = surface.Of(id).Path
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		if _, ok := paths[id]; !ok {
			return nil, fmt.Errorf("no surface %q: the surfaces are %s", id, strings.Join(surface.IDs(), ", "))
		}
		p := given[id]
		_, err := url.PathUnescape(p)
		if err != nil || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' || r == '?' || r == '#' }) {
			return nil, fmt.Errorf("path %q of surface %s contains a query, a fragment, or a character that must be written as %%20 and so on", p, id)
		}
		paths[id] = cleanPath(p)
	}
	return paths, nil
}

// cleanPath returns a path with a leading slash and no trailing one; the root is "".
func cleanPath(p string) string {
	p = strings.Trim(p, "/")
	if p == "" {
		return ""
	}
	return "/" + p
}

// CheckURL reports a mistake in a base URL.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}
