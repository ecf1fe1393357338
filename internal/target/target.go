package target

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"assay/internal/base/secret"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
)

// callTimeout limits each call of calibration and probing, before the time scale.
const callTimeout = 5 * time.Second

// Target is the gateway under test. It is safe for concurrent use. Only Calibrate changes
// it, by setting its way and shell, and Probe, by identifying the gateway.
type Target struct {
	options Options
	url     *url.URL
	base    string // path prefix, "" or "/x"
	paths   map[string]string
	query   string      // of every request to the stdio surface, without "?"
	tls     *tls.Config // nil for http

	redactor *secret.Redactor

	way   atomic.Pointer[bundle.Axes] // nil until Calibrate
	shell atomic.Pointer[[]string]    // nil: the shell of the options
	looks atomic.Pointer[string]      // nil until Probe

	service atomic.Bool // Calibrate found a plain HTTP server
	pace    *Pace
}

// tokenHeader carries the access token, and authorization a bearer token, or the name of a user.
const (
	tokenHeader   = "x-access-token"
	authorization = "authorization"
)

// New validates the options without using the network. Its errors are mistakes in the
// options, with a suggested correction.
func New(o Options) (*Target, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	paths, err := resolvePaths(o.Paths)
	if err != nil {
		return nil, err
	}
	if strings.Contains(o.User, ":") { // RFC 7617, section 2: no name of a user has one
		return nil, errors.New("the user contains a colon: give the name alone; Assay sends no password, but --header-file can")
	}
	if o.Embedded {
		o.TokenScheme = schemeAccessToken // the only header that the reference gateway reads everywhere
	}
	if err := o.checkToken(); err != nil {
		return nil, err
	}
	redactor := secret.Open(o.Secrets())
	o.Headers = slices.Concat(o.Headers, o.Open)
	headers := append(slices.Clone(o.Headers), bundle.Header{Name: tokenHeader, Value: o.Token},
		bundle.Header{Name: "user-agent", Value: o.UserAgent})
	if err := checkHeaders(headers); err != nil {
		return nil, err
	}
	config, err := tlsConfig(u, o)
	if err != nil {
		return nil, err
	}
	if o.TimeScale < 0 || math.IsNaN(o.TimeScale) || math.IsInf(o.TimeScale, 0) {
		return nil, errors.New("the time scale must be a number above 0")
	}
	if o.TimeScale == 0 {
		o.TimeScale = 1
	}
	if o.UserAgent == "" {
		o.UserAgent = "assay"
	}
	o.Shell = slices.Clone(o.Shell)
	t := &Target{options: o, url: u, base: cleanPath(u.EscapedPath()), paths: paths, pace: newPace(), tls: config, redactor: redactor}
	if IsSocketURL(o.URL) {
		t.splitSocketURL()
	}
	return t, nil
}

// splitSocketURL makes the last segment of the URL's path the path of the stdio surface.
func (t *Target) splitSocketURL() {
	if at := strings.LastIndexByte(t.base, '/'); at >= 0 {
		t.base, t.paths[surface.Stdio] = t.base[:at], t.base[at:]
	}
	t.query = t.url.RawQuery
	base := *t.url
	base.RawQuery, base.Path, base.RawPath = "", t.base, ""
	t.url = &base
}

// AttachPath returns the request target of a handshake on the stdio surface: its path, and the
// query of the URL followed by the given one.
func (t *Target) AttachPath(query string) string {
	p := t.Path(surface.Stdio, "")
	for _, part := range []string{t.query, query} {
		switch {
		case part == "":
		case strings.Contains(p, "?"):
			p += "&" + part
		default:
			p += "?" + part
		}
	}
	return p
}

// socketURL returns the URL of the stdio surface.
func (t *Target) socketURL() string {
	return strings.Replace(t.url.Scheme, schemeHTTP, schemeWS, 1) + "://" + t.url.Host + t.Path(surface.Stdio, "")
}

// Bearer returns the Authorization of the stdio surface, which carries the access token there; ""
// without a token, or if the options have an Authorization of their own.
func (t *Target) Bearer() string {
	if t.options.Token == "" || t.authorizes() {
		return ""
	}
	return "Bearer " + t.options.Token
}

// bears reports whether the token is in Authorization on every surface.
func (t *Target) bears() bool { return t.tokenField().Name == authorization }

// authorizes reports whether the options have an Authorization of their own.
func (t *Target) authorizes() bool {
	return slices.ContainsFunc(t.options.Headers, func(h bundle.Header) bool { return strings.EqualFold(h.Name, authorization) })
}

// Addr returns the host:port to dial.
func (t *Target) Addr() string {
	if t.options.Via != "" {
		return t.options.Via
	}
	return dialAddr(t.url)
}

// Path joins base path, surface path and rest with single slashes: Path("process",
// "process.Process/Start") = "/process.Process/Start". An unknown surface ("") has only the
// base path; the shortest path is "/".
func (t *Target) Path(surface, rest string) string {
	p := t.base + t.paths[surface]
	if rest = strings.TrimPrefix(rest, "/"); rest != "" {
		p += "/" + rest
	}
	if p == "" {
		return "/"
	}
	return p
}

// Headers returns the headers of every well-formed request, in the order and spelling of the
// E2B JavaScript SDK: host, connection, authorization if a user or a bearer token is set,
// user-agent (with scenario and run), the headers that its fetch adds, x-access-token if
// another token is set, and the extra ones. Headers that depend on the call (content-type, content-length, connect-…,
// accept-encoding) are not included. An extra header replaces the one of the same name.
func (t *Target) Headers(scenario, run string) []bundle.Header {
	hs := []bundle.Header{
		{Name: "host", Value: t.url.Host},
		{Name: "connection", Value: "keep-alive"},
	}
	token := t.tokenField()
	switch {
	case token.Name == authorization:
		hs = append(hs, token)
	case t.options.User != "":
		hs = append(hs, bundle.Header{Name: authorization, Value: basicUser(t.options.User)})
	}
	hs = append(hs,
		bundle.Header{Name: "user-agent", Value: t.options.UserAgent + " (" + scenario + "; " + run + ")"},
		bundle.Header{Name: "accept", Value: "*/*"},
		bundle.Header{Name: "accept-language", Value: "*"},
		bundle.Header{Name: "sec-fetch-mode", Value: "cors"},
	)
	if token.Name == tokenHeader {
		hs = append(hs, token)
	}
	for _, h := range t.options.Headers {
		hs = slices.DeleteFunc(hs, func(o bundle.Header) bool { return strings.EqualFold(o.Name, h.Name) })
	}
	return append(hs, t.options.Headers...)
}

// tokenField returns the header that carries the token; the zero value without a token.
func (t *Target) tokenField() bundle.Header {
	switch {
	case t.options.Token == "":
		return bundle.Header{}
	case t.options.TokenScheme == schemeBearer:
		return bundle.Header{Name: authorization, Value: "Bearer " + t.options.Token}
	}
	return bundle.Header{Name: tokenHeader, Value: t.options.Token}
}

func basicUser(user string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"))
}

// Shell returns the words in front of a command: those of the options, else /bin/sh -c or,
// after Calibrate, the shell that the target accepts instead.
func (t *Target) Shell() []string {
	if found := t.shell.Load(); found != nil {
		return slices.Clone(*found)
	}
	if len(t.options.Shell) > 0 {
		return slices.Clone(t.options.Shell)
	}
	return slices.Clone(defaultShell[:])
}

// defaultShell is POSIX; fallbackShell is the one that the E2B SDKs send, and the only one
// that some gateways accept.
var (
	defaultShell  = [...]string{"/bin/sh", "-c"}
	fallbackShell = [...]string{"/bin/bash", "-l", "-c"}
)

// Way returns the plainest way to call the target: connect/json/1.1/identity if supported,
// else the one that Calibrate found. Calls that must reach any target (clean-up) use it.
func (t *Target) Way() bundle.Axes {
	if found := t.way.Load(); found != nil {
		return *found
	}
	return plainWay
}

var plainWay = bundle.Axes{Protocol: call.Connect, Codec: call.JSON, HTTP: transport.HTTP1, Compression: call.Identity}

// shown returns the URL of the options as a command can use it.
func (t *Target) shown() string {
	if IsSocketURL(t.options.URL) {
		return t.options.URL
	}
	return t.url.String()
}

// Redactor returns the redactor of the secrets in the options, and of those added to it.
func (t *Target) Redactor() *secret.Redactor { return t.redactor }

// NewRecorder makes a recorder of connections to the target: within the memory of the run, and
// without the target's secrets.
func (t *Target) NewRecorder(clock *transport.Clock) *transport.Recorder {
	return transport.NewRecorder(clock, t.redactor).Within(t.options.Memory)
}

// Memory returns the memory of the run; nil is no bound.
func (t *Target) Memory() *transport.Memory { return t.options.Memory }

// Pace returns the pace of all calls.
func (t *Target) Pace() *Pace { return t.pace }

// Identity returns the description of the target in a bundle, without secrets. Its shell is
// final after Calibrate, the identified gateway after Probe.
func (t *Target) Identity() bundle.Target {
	id := bundle.Target{
		URL: t.shown(), Embedded: t.options.Embedded,
		Paths: maps.Clone(t.paths), Shell: t.Shell(),
	}
	if looks := t.looks.Load(); looks != nil {
		id.Looks = *looks
	}
	return id
}

// Scaled returns d times the time scale.
func (t *Target) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * t.options.TimeScale)
}
