package authproxy

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/issuer"
	"assay/internal/testkit"
)

// carriers are the ways in which a client sends a token.
var carriers = map[string]func(token string) *http.Request{
	"in the query": func(token string) *http.Request { return attach(token, "&cmd=bash") },
	"in the header": func(token string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/attach?cmd=bash", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return r
	},
	"in the query of an upgrade": func(token string) *http.Request {
		r := attach(token, "&cmd=bash")
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
		return r
	},
	"in the header of a call": func(token string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/process.Process/List", strings.NewReader("{}"))
		r.Header.Set("authorization", "bearer "+token)
		return r
	},
}

// whys are the reasons that the proxy logs. They prove that a token is refused for what is wrong with it, and nothing else.
var whys = map[string]string{
	"expired": "token is expired", "not-yet-valid": "token is not valid yet", "issued-later": "token used before issued",
	"no-expiry": "token is missing required claim", "no-subject": "it names no user",
	"wrong-audience": "token has invalid audience", "no-audience": "token is missing required claim",
	"wrong-issuer": "token has invalid issuer", "no-issuer": "token is missing required claim",
	"alg-none": "token signature is invalid", "hs256-public-key": "token signature is invalid",
	"swapped-alg": "its algorithm is not that of its key", "unknown-kid": "it names an unknown key", "no-kid": "it names no key",
	"foreign-key": "token signature is invalid", "embedded-key": "token signature is invalid", "critical-header": "it has a critical extension",
	"altered": "token signature is invalid", "cut": "token signature is invalid", "garbage": "token is malformed",
	"missing-scope": "its token lacks sandbox:connect",
}

// challenges are WWW-Authenticate by status.
var challenges = map[int]string{401: `Bearer realm="assay", error="invalid_token"`, 403: `Bearer realm="assay", error="insufficient_scope", scope="sandbox:connect"`}

func TestEveryBadTokenIsRefusedWhereverItIs(t *testing.T) {
	t.Parallel()
	bodies := map[int]string{401: "Invalid token", 403: "Missing scope sandbox:connect"}
	for _, k := range issuer.Kinds() {
		for carrier, request := range carriers {
			for _, alg := range []string{issuer.ES256, issuer.RS256} {
				t.Run(k.Name+" "+carrier+" "+alg, func(t *testing.T) {
					g := newRig(t, Limits{}, nil)
					token, err := g.issuer.MintBad(k.Name, issuer.Spec{Alg: alg})
					if err != nil {
						t.Fatal(err)
					}
					w := g.ask(request(token))
					want(t, w, k.Status, bodies[k.Status])
					if got := w.Header().Get("WWW-Authenticate"); got != challenges[k.Status] {
						t.Errorf("WWW-Authenticate: got %q", got)
					}
					if !strings.Contains(g.log.String(), `"why":"`+whys[k.Name]+`"`) {
						t.Errorf("want the reason %q:\n%s", whys[k.Name], g.log)
					}
				})
			}
		}
	}
}

func TestAValidTokenPassesWhereverItIs(t *testing.T) {
	t.Parallel()
	for carrier, request := range carriers {
		for _, alg := range []string{issuer.ES256, issuer.RS256} {
			g := newRig(t, Limits{}, nil)
			w := g.ask(request(g.token(issuer.Spec{Alg: alg})))
			if w.Code != 200 {
				t.Errorf("%s, %s: got %d %q", carrier, alg, w.Code, w.Body)
			}
		}
	}
}

func TestARequestWithoutATokenIsUnauthorized(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	token := g.all()
	for name, change := range map[string]func(*http.Request){
		"nothing":                    func(*http.Request) {},
		"an empty parameter":         func(r *http.Request) { r.URL.RawQuery = "token=" },
		"an empty bearer":            func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
		"another scheme":             func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) },
		"a token without its scheme": func(r *http.Request) { r.Header.Set("Authorization", token) },
		"another header":             func(r *http.Request) { r.Header.Set("X-Access-Token", token) },
		"an empty parameter before a good header": func(r *http.Request) {
			r.URL.RawQuery = "token="
			r.Header.Set("Authorization", "Bearer "+token)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/attach", nil)
			change(r)
			w := g.ask(r)
			want(t, w, 401, "Unauthorized")
			if got := w.Header().Get("WWW-Authenticate"); got != `Bearer realm="assay"` {
				t.Errorf("WWW-Authenticate: got %q", got)
			}
		})
	}
}

func TestTheTokenOfTheQueryCounts(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	r := attach("garbage", "")
	r.Header.Set("Authorization", "Bearer "+g.all())
	want(t, g.ask(r), 401, "Invalid token")
	want(t, g.ask(attach("garbage", "&token="+g.all())), 401, "Invalid token")
	r = attach(g.all(), "")
	r.Header.Set("Authorization", "Bearer garbage")
	want(t, g.ask(r), 200, "passed")
}

func TestAHugeTokenIsNotLookedAt(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	r := httptest.NewRequest(http.MethodGet, "/attach", nil)
	r.Header.Set("Authorization", "Bearer "+strings.Repeat("a", maxToken+1))
	want(t, g.ask(r), 401, "Invalid token")
	if !strings.Contains(g.log.String(), errTooLong.Error()) {
		t.Errorf("got %s", g.log)
	}
}

func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{Blocked: []string{"rm"}}, nil)
	for _, more := range []string{"&cmd=%zz", "&cmd=rm;arg=x"} {
		want(t, g.ask(attach(g.all(), more)), 400, "Bad query")
	}
}

func TestEachRequestNeedsItsScope(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, func(o *Options) { o.Needs = DefaultNeeds("/box") })
	preflight := map[string]string{"Origin": "http://page.example", "Access-Control-Request-Method": "POST"}
	for _, c := range []struct {
		method, path string
		header       map[string]string
		scope        string // "": none
	}{
		{method: "GET", path: "/box/health"},
		{method: "GET", path: "/box/terminal"},
		{method: "GET", path: "/box/terminal/page.js"},
		{method: "GET", path: "/box/terminals", scope: issuer.ScopeExec},
		{method: "GET", path: "/box/attach", scope: issuer.ScopeConnect},
		{method: "POST", path: "/box/process.Process/Connect", scope: issuer.ScopeConnect},
		{method: "POST", path: "/box/process.Process/List", scope: issuer.ScopeConnect},
		{method: "POST", path: "/box/process.Process/Start", scope: issuer.ScopeExec},
		{method: "POST", path: "/box/process.Process%2FStart", scope: issuer.ScopeExec},
		{method: "POST", path: "/box/process.Process/SendSignal", scope: issuer.ScopeExec},
		{method: "POST", path: "/box/commands", scope: issuer.ScopeExec},
		{method: "GET", path: "/box/metrics", scope: issuer.ScopeAdmin},
		{method: "GET", path: "/health", scope: issuer.ScopeExec},
		{method: "GET", path: "/box/attach/health", scope: issuer.ScopeExec},
		{method: "GET", path: "/box/anything", scope: issuer.ScopeExec},
		{method: "GET", path: "/box/anything", header: map[string]string{"Upgrade": "websocket"}, scope: issuer.ScopeConnect},
		{method: "OPTIONS", path: "/box/commands", header: preflight},
		{method: "POST", path: "/box/commands", header: preflight, scope: issuer.ScopeExec},
	} {
		for _, has := range []string{"", issuer.ScopeConnect, issuer.ScopeExec, issuer.ScopeAdmin} {
			r := httptest.NewRequest(c.method, c.path, nil)
			for name, value := range c.header {
				r.Header.Set(name, value)
			}
			r.Header.Set("Authorization", "Bearer "+g.token(issuer.Spec{Scopes: []string{has}}))
			w := g.ask(r)
			if c.scope == "" || has == c.scope || has == issuer.ScopeAdmin {
				want(t, w, 200, "passed")
			} else if want(t, w, 403, "Missing scope "+c.scope); t.Failed() {
				t.Fatalf("%s %s with scope %q", c.method, c.path, has)
			}
		}
	}
}

// The whole matrix leaves no token in a log, an answer, or what the handler gets.
func TestATokenIsNowhereBehindTheProxy(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	var out bytes.Buffer
	echo := g.proxy.Over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.Write(&out)
		_, _ = out.WriteString(r.RequestURI + " " + r.URL.String())
		w.WriteHeader(http.StatusTeapot)
	}))
	tokens := []string{g.all()}
	for _, k := range issuer.Kinds() {
		token, err := g.issuer.MintBad(k.Name, issuer.Spec{Subject: "mallory"})
		if err != nil {
			t.Fatal(err)
		}
		if k.Name != "garbage" { // the word is not a secret
			tokens = append(tokens, token)
		}
	}
	passed := 0
	for _, token := range tokens {
		for _, request := range carriers {
			r := request(token)
			r.Header.Set("Referer", "http://page.example/?token="+token)
			w := httptest.NewRecorder()
			echo.ServeHTTP(w, r)
			if w.Code == http.StatusTeapot {
				passed++
			}
			_ = w.Result().Write(&out)
		}
	}
	if passed != len(carriers) {
		t.Errorf("%d requests reached the handler, want %d", passed, len(carriers))
	}
	if !strings.Contains(g.log.String(), "alice") {
		t.Errorf("the log is not there: %s", g.log)
	}
	out.Write(g.log.Bytes())
	for _, token := range tokens {
		for part := range strings.SplitSeq(token, ".") {
			if len(part) < 20 { // no signature
				continue
			}
			if found := testkit.Remains(out.Bytes(), part); found != nil {
				t.Errorf("%q remains %v", part, found)
			}
		}
	}
}

func TestARequestIsHandedOnWithoutItsTokenAndOtherwiseUnchanged(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	token := g.all()
	for query, rest := range map[string]string{
		"token=" + token: "",
		"arg=%2D%6c&token=" + token + "&arg=a+b&&x": "arg=%2D%6c&arg=a+b&&x",
		"t%6Fken=" + token + "&tokens=1&token":      "tokens=1",
	} {
		r := httptest.NewRequest(http.MethodGet, "/attach?"+query, nil)
		r.Header.Add("Authorization", "Bearer "+token)
		r.Header.Add("Authorization", "Basic dXNlcjo=")
		r.Header.Set("Referer", "http://page.example/?a=1")
		var seen *http.Request
		g.proxy.Over(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r })).ServeHTTP(httptest.NewRecorder(), r)
		if seen == nil {
			t.Fatalf("%s: refused\n%s", query, g.log)
		}
		path := "/attach"
		if rest != "" {
			path += "?" + rest
		}
		if got := seen.Header["Authorization"]; seen.RequestURI != path || seen.URL.RawQuery != rest || len(got) != 1 || got[0] != "Basic dXNlcjo=" ||
			seen.Header.Get("Referer") == "" {
			t.Errorf("%s: got %s %s %v", query, seen.RequestURI, seen.URL, seen.Header)
		}
		if r.Header["Authorization"][0] != "Bearer "+token || r.URL.RawQuery != query {
			t.Errorf("the request itself was changed: %s", r.URL)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("token=a&cmd=b")
	f.Add("a=1&&t%6fken&b=%2D&token=x=y")
	f.Fuzz(func(t *testing.T, query string) {
		before, err := url.ParseQuery(query)
		if err != nil {
			return // it is refused
		}
		after, err := url.ParseQuery(cut(query))
		delete(before, tokenParameter)
		if d := cmp.Diff(before, after); d != "" || err != nil {
			t.Errorf("%q became %q: %v %s", query, cut(query), err, d)
		}
	})
}
