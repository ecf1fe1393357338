package issuer_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"assay/fakes/issuer"
)

// clock is a clock that stands still until it is moved.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newIssuer(t *testing.T) (*issuer.Issuer, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	i, err := issuer.New(issuer.Options{URL: "http://issuer.test/", Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	return i, c
}

// get asks an issuer that does not listen.
func get(t *testing.T, i *issuer.Issuer, url string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	i.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
	return w.Code, w.Body.String()
}

// published returns the ids of the published keys.
func published(t *testing.T, i *issuer.Issuer) []string {
	t.Helper()
	_, body := get(t, i, "http://issuer.test/jwks")
	var set struct {
		Keys []struct{ Kid, Alg, Kty, Use string }
	}
	if err := json.Unmarshal([]byte(body), &set); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, k := range set.Keys {
		if k.Use != "sig" || k.Alg == issuer.ES256 && k.Kty != "EC" || k.Alg == issuer.RS256 && k.Kty != "RSA" {
			t.Errorf("got key %+v", k)
		}
		ids = append(ids, k.Kid)
	}
	return ids
}

// parts returns the header and the claims of a token, unchecked.
func parts(t *testing.T, token string) (header map[string]any, claims jwt.MapClaims) {
	t.Helper()
	claims = jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Header, claims
}

func TestATokenHasItsUserItsScopesAndAShortLife(t *testing.T) {
	t.Parallel()
	i, c := newIssuer(t)
	token, err := i.Mint(issuer.Spec{Subject: "bob", Scopes: []string{issuer.ScopeAdmin, issuer.ScopeExec}, Alg: issuer.RS256, Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	header, claims := parts(t, token)
	if header["alg"] != issuer.RS256 || !slices.Contains(published(t, i), header["kid"].(string)) {
		t.Errorf("got header %v", header)
	}
	want := map[string]any{"iss": "http://issuer.test", "aud": issuer.Audience, "sub": "bob", "scope": "sandbox:admin sandbox:exec"}
	for name, value := range want {
		if claims[name] != value {
			t.Errorf("%s: got %v, want %v", name, claims[name], value)
		}
	}
	if exp, err := claims.GetExpirationTime(); err != nil || !exp.Equal(c.now.Add(time.Minute)) {
		t.Errorf("exp: got %v, %v", exp, err)
	}
}

func TestTheDefaultTokenMayConnectAndExecute(t *testing.T) {
	t.Parallel()
	i, c := newIssuer(t)
	token, err := i.Mint(issuer.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	header, claims := parts(t, token)
	exp, err := claims.GetExpirationTime()
	if header["alg"] != issuer.ES256 || claims["sub"] != issuer.DefaultSubject || claims["scope"] != "sandbox:connect sandbox:exec" ||
		err != nil || exp.Sub(c.now) != issuer.DefaultLife {
		t.Errorf("got %v %v", header, claims)
	}
}

func TestTheKeysBeforeARotationStayForATime(t *testing.T) {
	t.Parallel()
	i, c := newIssuer(t)
	before := published(t, i)
	if err := i.Rotate(); err != nil {
		t.Fatal(err)
	}
	both := published(t, i)
	if len(before) != 2 || len(both) != 4 || !slices.Equal(both[2:], before) {
		t.Errorf("got %v after %v", both, before)
	}
	token, err := i.Mint(issuer.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if header, _ := parts(t, token); header["kid"] != both[0] {
		t.Errorf("signed with %v, want the new key of %v", header["kid"], both)
	}
	c.now = c.now.Add(2*issuer.DefaultLife - time.Nanosecond)
	if got := published(t, i); len(got) != 4 {
		t.Errorf("too early: got %v", got)
	}
	c.now = c.now.Add(time.Nanosecond)
	if got := published(t, i); !slices.Equal(got, both[:2]) {
		t.Errorf("got %v, want %v", got, both[:2])
	}
}

func TestTheDiscoveryDocumentNamesTheKeys(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t)
	_, body := get(t, i, "http://issuer.test/.well-known/openid-configuration")
	var d struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || d.Issuer != i.URL() || d.Keys != i.URL()+"/jwks" {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestMintAnswersWithATokenAlone(t *testing.T) {
	t.Parallel()
	i, c := newIssuer(t)
	status, body := get(t, i, "http://issuer.test/mint?sub=bob&scope=sandbox:admin&alg=RS256&life=10s")
	header, claims := parts(t, strings.TrimSpace(body))
	exp, err := claims.GetExpirationTime()
	if status != 200 || header["alg"] != issuer.RS256 || claims["sub"] != "bob" || claims["scope"] != "sandbox:admin" || err != nil || exp.Sub(c.now) != 10*time.Second {
		t.Errorf("got %d %v %v", status, header, claims)
	}
	_, body = get(t, i, "http://issuer.test/mint?scope=")
	if _, claims = parts(t, strings.TrimSpace(body)); claims["scope"] != "" {
		t.Errorf("an empty scope: got %q", claims["scope"])
	}
	if _, body = get(t, i, "http://issuer.test/mint?kind=garbage"); body != "garbage\n" {
		t.Errorf("got %q", body)
	}
}

func TestMintRefusesWhatItCannotMake(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t)
	for query, want := range map[string]string{"kind=odd": "expired, ", "alg=HS256": "ES256 or RS256", "life=long": "life"} {
		if status, body := get(t, i, "http://issuer.test/mint?"+query); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %q", query, status, body)
		}
	}
}

// A page may reach the address of an issuer under a name of its own (DNS rebinding).
func TestAnIssuerAnswersOnlyUnderItsOwnName(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t)
	if status, body := get(t, i, "http://issuer.example/mint"); status != http.StatusMisdirectedRequest {
		t.Errorf("got %d %q", status, body)
	}
}

func TestEveryKindHasANameAndMakesAToken(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t)
	_, help := get(t, i, "http://issuer.test/")
	seen := map[string]bool{}
	for _, k := range issuer.Kinds() {
		for _, alg := range []string{issuer.ES256, issuer.RS256} {
			token, err := i.MintBad(k.Name, issuer.Spec{Alg: alg})
			if err != nil || seen[token] && k.Name != "garbage" {
				t.Errorf("%s: got %q, %v", k.Name, token, err)
			}
			seen[token] = true
		}
		if k.Title == "" || k.Status != 401 && k.Status != 403 || !strings.Contains(help, k.Name+" ") {
			t.Errorf("%+v is not described in\n%s", k, help)
		}
	}
}

func TestAnIssuerListensOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nowhere"} {
		if i, err := issuer.Start(context.Background(), listen, issuer.Options{}); err == nil {
			t.Errorf("%s: it listens", listen)
			_ = i.Close()
		}
	}
	i, err := issuer.Start(context.Background(), "127.0.0.1:0", issuer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(i.URL()+"/rotate", "", nil)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("got %v, %v", resp, err)
	}
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}
