package controlplane_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"assay/fakes/controlplane"
	"assay/fakes/files"
	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
	"assay/internal/envd/process/processconnect"
	"assay/internal/testkit"
)

// site is a plane in front of a gateway that listens.
type site struct {
	t *testing.T
	*gateway.Gateway
	client *http.Client
	key    string
}

// start starts a site over a version of HTTP.
func start(t *testing.T, o gateway.Options, c controlplane.Options, version string) *site {
	t.Helper()
	if err := controlplane.Attach(&o, c); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return &site{t, g, gatewaytest.HTTPClient(t, g, version), c.APIKey}
}

// sandbox is a created sandbox as a client sees it.
type sandbox struct {
	site  *site
	ID    string `json:"sandboxID"`
	Token string `json:"envdAccessToken"`
	port  string
}

// RoundTrip sends a request to the sandbox.
func (s *sandbox) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("E2b-Sandbox-Id", s.ID)
	if s.port != "" {
		r.Header.Set("E2b-Sandbox-Port", s.port)
	}
	if s.Token != "" {
		r.Header.Set("X-Access-Token", s.Token)
	}
	return s.site.client.Transport.RoundTrip(r)
}

// api calls the API and decodes the body into v, unless that is nil.
func (s *site) api(call, body string, v any) (status int) {
	s.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r, err := http.NewRequestWithContext(gatewaytest.Deadline(s.t), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.key != "" {
		r.Header.Set("X-API-Key", s.key)
	}
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && v != nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %d %q: %v", method, path, res.StatusCode, raw, err)
	}
	return res.StatusCode
}

// create creates a sandbox.
func (s *site) create(body string) *sandbox {
	s.t.Helper()
	box := &sandbox{site: s}
	if status := s.api("POST /v2/sandboxes", body, box); status != http.StatusCreated {
		s.t.Fatalf("create: %d", status)
	}
	return box
}

// client returns a client of the processes of the sandbox.
func (s *sandbox) client() processconnect.ProcessClient {
	return processconnect.NewProcessClient(&http.Client{Transport: s}, s.site.URL())
}

// health asks for the health of the sandbox and returns the status and the error.
func (s *sandbox) health() (status int, message string) {
	s.site.t.Helper()
	r, err := http.NewRequestWithContext(gatewaytest.Deadline(s.site.t), http.MethodGet, s.site.URL()+"/health", nil)
	if err != nil {
		s.site.t.Fatal(err)
	}
	res, err := s.RoundTrip(r)
	if err != nil {
		s.site.t.Fatal(err)
	}
	defer res.Body.Close()
	var body struct {
		ID      string `json:"sandboxId"`
		Message string `json:"message"`
		Code    int    `json:"code"`
	}
	if res.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || body.ID != s.ID || body.Code != res.StatusCode {
			s.site.t.Errorf("health: %d %+v, %v", res.StatusCode, body, err)
		}
	}
	return res.StatusCode, body.Message
}

const base = `{"templateID":"base","timeout":3600}`

// line reads the next piece of output.
func line(t *testing.T, s *gatewaytest.Stream) string {
	t.Helper()
	if !s.Receive() {
		t.Fatalf("the stream ended: %v", s.Err())
	}
	return string(s.Msg().GetEvent().GetData().GetStdout())
}

func TestARequestWakesASandboxThatResumesByItself(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{}, controlplane.Options{}, "1.1")
	box := s.create(`{"templateID":"base","autoResume":{"enabled":true}}`)
	s.api("POST /sandboxes/"+box.ID+"/pause", "", nil)
	if status, message := box.health(); status != http.StatusNoContent {
		t.Errorf("health: %d %s", status, message)
	}
}

func TestOnlyTheOpenPortsAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{}, controlplane.Options{Domain: "Sandbox.example"}, "1.1")
	box := s.create(base)
	for port, want := range map[string]int{"": 204, "49983": 204, "49999": 204, "3000": 502, "x": 502, "-1": 502} {
		box.port = port
		if status, message := box.health(); status != want || want == 502 && message != "The sandbox is running but port is not open" {
			t.Errorf("port %q: %d %q", port, status, message)
		}
	}
	for host, want := range map[string]int{
		"49983-" + box.ID + ".sandbox.example:80": 204, "49983-" + box.ID + "-local.SANDBOX.example": 204, "3000-" + box.ID + ".sandbox.example": 502,
		"49983-iunknown.sandbox.example": 502,
	} {
		r, err := http.NewRequestWithContext(gatewaytest.Deadline(t), http.MethodGet, s.URL()+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, res.StatusCode, want)
		}
	}
}

// The SDK sends no token to /contexts, and knows a sandbox by its id.
func TestThePortOfTheInterpreterNeedsNoTokenAndServesNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{}, controlplane.Options{}, "1.1")
	box := s.create(`{"templateID":"base","timeout":3600,"secure":true}`)
	box.Token = ""
	for path, want := range map[string]map[string]int{
		"/contexts": {"49999": 200, "49983": 401}, "/health": {"49999": 204, "49983": 204},
		"/envs": {"49999": 404, "49983": 401}, "/files": {"49999": 404, "49983": 401},
	} {
		for port, status := range want {
			box.port = port
			r, err := http.NewRequestWithContext(gatewaytest.Deadline(t), http.MethodGet, s.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := box.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != status {
				t.Errorf("%s on port %s: %d, want %d", path, port, res.StatusCode, status)
			}
		}
	}
}

func TestASignedURLOpensTheSandboxWhoseTokenSigned(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{}, controlplane.Options{Only: true}, "1.1")
	a, b := s.create(base), s.create(base)
	if _, _, _, err := gatewaytest.Begin(t, a.client(), gatewaytest.Sh(`echo mine >/tmp/f`)).Rest(); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{a.Token: 200, b.Token: 404, "another": 404} {
		g := files.Grant{Path: "/tmp/f", Operation: files.OperationRead, Token: token}
		q := url.Values{"path": {g.Path}, "signature": {g.Sign()}}
		if status := s.api("GET /files?"+q.Encode(), "", nil); status != want {
			t.Errorf("signed with the token %q: %d, want %d", token, status, want)
		}
	}
}

func TestTheSettingsOfASandboxAreNotForItsClients(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{}, controlplane.Options{}, "1.1")
	box := s.create(base)
	r, err := http.NewRequestWithContext(gatewaytest.Deadline(t), http.MethodPost, s.URL()+"/init", strings.NewReader(`{"accessToken":"mine"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := box.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestTheGatewayBehindThePlaneAnswersTheRest(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{Prefix: "/base"}, controlplane.Options{}, "1.1")
	c := gatewaytest.Client(t, s)
	req := gatewaytest.Sh("echo here")
	req.Header().Set("E2b-Sandbox-Id", "mine") // no id of the plane
	if out, _, _, err := gatewaytest.Begin(t, c, req).Rest(); out != "here\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	box := s.create(base)
	if out, _, _, err := gatewaytest.Begin(t, box.client(), gatewaytest.Sh("echo there")).Rest(); out != "there\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestADeletionClosesTheWebSockets(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{}, controlplane.Options{}, "1.1")
	box := s.create(base)
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	ws, res, err := websocket.Dial(ctx, s.URL()+"/attach?cmd=cat", &websocket.DialOptions{HTTPClient: &http.Client{Transport: box}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	s.api("DELETE /sandboxes/"+box.ID, "", nil)
	for err == nil {
		_, _, err = ws.Read(ctx)
	}
	if ctx.Err() != nil {
		t.Error("the WebSocket stays open")
	}
}

func TestRealProcessesEndWithTheirSandbox(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Options{Processes: gateway.ProcessesOS, Token: "outer"}, controlplane.Options{APIKey: "e2b_00"}, "1.1")
	var box sandbox
	if status := s.api("POST /sandboxes", base, &box); status != http.StatusCreated || box.Token == "" {
		t.Fatalf("created %d with token %q", status, box.Token)
	}
	box.site = s
	stream := gatewaytest.Begin(t, box.client(), gatewaytest.Sh(`echo "$E2B_SANDBOX_ID"; exec sleep 1000`))
	if out := line(t, stream); out != box.ID+"\n" {
		t.Errorf("output %q", out)
	}
	if status := s.api("DELETE /sandboxes/"+box.ID, "", nil); status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	if _, _, _, err := stream.Rest(); err == nil {
		t.Error("the stream has an end")
	}
}
