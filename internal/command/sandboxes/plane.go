package sandboxes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assay/internal/base/crash"
	"assay/internal/base/secret"
	"assay/internal/target"
)

// maxAnswer is the most of a response that is read.
const maxAnswer = 64 << 10

// plane is the control plane, as far as a lease needs it.
type plane struct {
	target   *target.Target // for addresses and headers
	url      string
	client   *http.Client
	patience time.Duration
	redact   *secret.Redactor
}

func newPlane(o target.Options, patience time.Duration) (*plane, error) {
	t, err := target.New(withURL(o))
	if err != nil {
		return nil, err
	}
	control, err := t.ControlPlane()
	if err != nil {
		return nil, err
	}
	tlsConfig := &tls.Config{InsecureSkipVerify: o.Insecure} //nolint:gosec // set explicitly by --insecure
	if len(o.CACert) > 0 {
		tlsConfig.RootCAs = x509.NewCertPool()
		tlsConfig.RootCAs.AppendCertsFromPEM(o.CACert)
	}
	return &plane{
		target: control, url: o.Control.URL, patience: patience, redact: t.Redactor(),
		client: &http.Client{
			Transport:     &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// answer is a response.
type answer struct {
	status int
	kind   string // media type
	body   []byte
	words  string // what the body says, without secrets
	at     time.Time
}

// String describes the response in the words of the server.
func (a *answer) String() string {
	switch {
	case strings.Contains(a.kind, "html"):
		return fmt.Sprintf("%d with HTML", a.status)
	case a.words == "":
		return strconv.Itoa(a.status)
	}
	return fmt.Sprintf("%d, %s", a.status, a.words)
}

// started reports whether a response to the health check comes from the daemon of a sandbox: a
// gateway that has no such route answers too, but a proxy answers for a sandbox that does not run.
func (a *answer) started() bool {
	var proxy struct {
		SandboxID string `json:"sandboxId"`
	}
	byProxy := json.Unmarshal(a.body, &proxy) == nil && proxy.SandboxID != ""
	return a.status/100 == 2 || a.status/100 == 4 && !byProxy && !strings.Contains(a.kind, "html") && a.status != http.StatusNotFound
}

// call makes one call to the API.
func (p *plane) call(ctx context.Context, method, path string, body any) (*answer, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	return p.request(ctx, p.target, method, p.target.Path("control", path), content)
}

// health asks a sandbox.
func (p *plane) health(ctx context.Context, sandbox *target.Target) (*answer, error) {
	return p.request(ctx, sandbox, http.MethodGet, sandbox.Path("health", ""), nil)
}

// request makes one request with the headers of a target.
func (p *plane) request(ctx context.Context, t *target.Target, method, path string, body io.Reader) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	scheme := "http://"
	if t.Secure() {
		scheme = "https://"
	}
	r, err := http.NewRequestWithContext(ctx, method, scheme+t.Authority()+path, body)
	if err != nil {
		return nil, err
	}
	for _, h := range t.Headers("lease", "assay") {
		if !strings.EqualFold(h.Name, "host") && !strings.EqualFold(h.Name, "connection") {
			r.Header.Set(h.Name, h.Value)
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := p.client.Do(r)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no response to %s %s within %s", method, path, p.patience)
		}
		return nil, errors.New(p.redact.Text(err.Error()))
	}
	defer func() { _ = got.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the response to %s %s is cut off: %s", method, path, p.redact.Text(err.Error()))
	}
	kind, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if looks := bytes.TrimSpace(content); bytes.HasPrefix(looks, []byte("<")) {
		kind = "text/html"
	}
	return &answer{status: got.StatusCode, kind: kind, body: content, words: p.words(content), at: time.Now()}, nil
}

// words returns the message of an error, or the beginning of the body.
func (p *plane) words(body []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &e) == nil && e.Message != "" {
		text = e.Message
	}
	text = p.redact.Text(text) // of a secret that is cut off, half would stay
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// created is the response to a successful creation.
type created struct {
	SandboxID          string `json:"sandboxID"`
	Domain             string `json:"domain"`
	EnvdAccessToken    string `json:"envdAccessToken"`
	TrafficAccessToken string `json:"trafficAccessToken"`
}

// create creates a sandbox: by the current route or, where there is none, by the older one. After
// an interrupt, it still waits a moment for the response, to delete what was created.
func (p *plane) create(ctx context.Context, template string) (*Sandbox, error) {
	type outcome struct {
		sandbox *Sandbox
		err     error
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	result := make(chan outcome, 1)
	crash.Go(func() {
		s, err := p.createWith(late, template, lifetime)
		result <- outcome{s, err}
	})
	select {
	case o := <-result:
		return o.sandbox, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-result:
		if o.sandbox != nil {
			return nil, errors.Join(ctx.Err(), o.sandbox.Close())
		}
	case <-time.After(lateAnswer):
	}
	return nil, ctx.Err()
}

func (p *plane) createWith(ctx context.Context, template string, seconds int) (*Sandbox, error) {
	body := map[string]any{"templateID": template, "timeout": seconds, "metadata": map[string]string{"assay": "run"}}
	const current, older = "/v2/sandboxes", "/sandboxes"
	path := current
	asked := time.Now()
	a, err := p.call(ctx, http.MethodPost, path, body)
	if err == nil && (a.status == http.StatusNotFound && !mentions(a, template) || a.status == http.StatusMethodNotAllowed) {
		path, body["secure"], asked = older, true, time.Now()
		a, err = p.call(ctx, http.MethodPost, path, body)
	}
	if err != nil {
		return nil, &failure{what: noResponse, error: p.unreachable("it creates no sandbox: "+err.Error()+".", "Is this the control plane, and is it up? --time-scale extends every deadline.")}
	}
	if a.status == http.StatusBadRequest && seconds > shortLifetime && strings.Contains(strings.ToLower(a.words), "timeout") {
		return p.createWith(ctx, template, shortLifetime)
	}
	s, err := p.sandbox(a, path, seconds)
	if err != nil {
		html := strings.Contains(a.kind, "html")
		return nil, &failure{what: strconv.Itoa(a.status), refused: a.status/100 != 5 || html, error: err}
	}
	s.asked, s.creation = asked, a.at.Sub(asked)
	return s, nil
}

// mentions reports whether an answer is about the template, and not about the route.
func mentions(a *answer, template string) bool {
	return template != "" && strings.Contains(a.words, template) || strings.Contains(strings.ToLower(a.words), "template")
}

// sandbox reads the response to a creation.
func (p *plane) sandbox(a *answer, path string, seconds int) (*Sandbox, error) {
	said := fmt.Sprintf("POST %s returns %s", p.target.Path("control", path), a)
	var made created
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return nil, p.unreachable("it rejects the API key ("+said+").", "Give the key with --api-key-file FILE.")
	case strings.Contains(a.kind, "html"):
		return nil, p.unreachable(said+": this is a web page or a proxy error, not a control plane.", "Is this the URL of the API?")
	case a.status/100 != 2:
		return nil, p.unreachable("it creates no sandbox ("+said+").", "--template names the template.")
	case json.Unmarshal(a.body, &made) != nil || made.SandboxID == "":
		return nil, p.unreachable(said+", which has no sandboxID.", "")
	}
	p.redact.Add(made.EnvdAccessToken, made.TrafficAccessToken)
	return &Sandbox{
		ID: made.SandboxID, plane: p, seconds: seconds,
		place: target.Place{ID: made.SandboxID, Domain: made.Domain, AccessToken: made.EnvdAccessToken, TrafficToken: made.TrafficAccessToken},
	}, nil
}

// unreachable is a missing precondition of the run.
func (p *plane) unreachable(reason, mend string) error {
	return &target.UnreachableError{URL: "through the control plane " + p.url, Reason: p.redact.Text(reason), Mend: mend}
}
