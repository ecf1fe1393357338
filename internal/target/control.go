package target

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/record/surface"
)

// Control says where the control plane of a target is.
type Control struct {
	// URL is its base URL; "" is the URL of the target.
	URL string
	// APIKey is sent as X-API-Key to the control plane, and nowhere else.
	APIKey string
	// SandboxURL is the base URL of every sandbox, which headers tell apart; "" follows the answer
	// of the control plane.
	SandboxURL string
}

// The headers that name a sandbox where all have one address.
const (
	sandboxIDHeader    = "e2b-sandbox-id"
	sandboxPortHeader  = "e2b-sandbox-port"
	trafficTokenHeader = "e2b-traffic-access-token"
	apiKeyHeader       = "x-api-key"
	daemonPort         = "49983"
)

// Place is the address of a sandbox, as the control plane answers it.
type Place struct {
	ID, Domain                string
	AccessToken, TrafficToken string
	// Surface is that of the request: some have another port.
	Surface string
}

// ControlPlane returns the target for requests to the control plane.
func (t *Target) ControlPlane() (*Target, error) {
	o := t.Options()
	if o.Control != (Control{SandboxURL: o.Control.SandboxURL}) {
		o.Token = "" // it is that of the sandboxes
	}
	if o.Control.URL == "" {
		o.Headers = WithoutSandbox(o.Headers)
	} else {
		o.URL, o.Headers = o.Control.URL, nil
	}
	if o.Control.APIKey != "" {
		o.Headers = append(o.Headers, bundle.Header{Name: apiKeyHeader, Value: o.Control.APIKey})
	}
	return t.derive(o)
}

// Sandbox returns the target for requests to a sandbox: by its host name if the control plane
// answered a domain, else by headers at the address of the control plane.
func (t *Target) Sandbox(p Place) (*Target, error) {
	t.redactor.Add(p.AccessToken, p.TrafficToken)
	o := t.Options()
	o.Unsent, o.Token = cmp.Or(o.Unsent, o.Token), p.AccessToken
	o.TokenScheme = "" // the protocol of sandboxes says where their token is
	port := cmp.Or(surface.Of(p.Surface).Port, daemonPort)
	base := o.URL
	if o.Control.URL != "" {
		base = o.Control.URL
	}
	switch {
	case o.Control.SandboxURL != "":
		o.URL = o.Control.SandboxURL
	case p.Domain != "":
		host, err := sandboxHost(base, port+"-"+p.ID+"."+p.Domain)
		if err != nil {
			return nil, err
		}
		o.URL = host
	default:
		o.URL = base
	}
	o.Headers = WithoutSandbox(o.Headers)
	o.Headers = append(o.Headers, bundle.Header{Name: sandboxIDHeader, Value: p.ID}, bundle.Header{Name: sandboxPortHeader, Value: port})
	if p.TrafficToken != "" {
		o.Headers = append(o.Headers, bundle.Header{Name: trafficTokenHeader, Value: p.TrafficToken})
	}
	return t.derive(o)
}

// sandboxHost returns the URL of a host with the scheme of a base URL and, for http, its port.
func sandboxHost(base, host string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("the URL of the control plane: %w", err)
	}
	if p := u.Port(); p != "" && !strings.Contains(host, ":") {
		host = net.JoinHostPort(host, p)
	}
	return u.Scheme + "://" + host, nil
}

// WithoutSandbox returns headers without those that name a sandbox.
func WithoutSandbox(headers []bundle.Header) []bundle.Header {
	return slices.DeleteFunc(slices.Clone(headers), isSandboxHeader)
}

func isSandboxHeader(h bundle.Header) bool {
	name := strings.ToLower(h.Name)
	return name == sandboxIDHeader || name == sandboxPortHeader || name == trafficTokenHeader || name == apiKeyHeader
}

// derive returns a target with other options for the same run: with its way, its shell and its
// redactor.
func (t *Target) derive(o Options) (*Target, error) {
	if !IsSecureURL(o.URL) {
		o.CACert, o.Insecure = nil, false
	}
	out, err := New(o)
	if err != nil {
		return nil, err
	}
	out.redactor = t.redactor
	out.way.Store(t.way.Load())
	out.shell.Store(t.shell.Load())
	return out, nil
}

// Options returns the options that the target was made from.
func (t *Target) Options() Options {
	o := t.options
	o.Headers = o.Headers[:len(o.Headers)-len(o.Open)] // New has added Open
	return o
}
