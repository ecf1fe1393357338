package authproxy

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/fakes/issuer"
)

// rotating is a rig with an issuer of its own, on the same clock.
func rotating(t *testing.T) *rig {
	t.Helper()
	clock := &hand{now: epoch}
	i, err := issuer.New(issuer.Options{URL: "http://issuer.test", Now: clock.Now, Life: time.Hour, Overlap: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	l := &link{issuer: i}
	g := newRig(t, Limits{}, func(o *Options) { o.Clock, o.Client = clock, &http.Client{Transport: l} })
	g.link, g.clock = l, clock
	return g
}

func (g *rig) rotate() {
	g.t.Helper()
	if err := g.link.issuer.Rotate(); err != nil {
		g.t.Fatal(err)
	}
}

// fetched requires how often the keys were fetched until now.
func (g *rig) fetched(times int32) {
	g.t.Helper()
	if got := g.link.fetches.Load(); got != times {
		g.t.Errorf("the keys were fetched %d times, want %d", got, times)
	}
}

func TestANewKeyIsFetchedAndTheOldOneStaysForItsTime(t *testing.T) {
	t.Parallel()
	g := rotating(t)
	old := g.token(issuer.Spec{})
	want(t, g.ask(attach(old, "")), 200, "passed")
	g.clock.move(time.Minute)
	g.rotate()
	fresh := g.token(issuer.Spec{})
	want(t, g.ask(attach(fresh, "")), 200, "passed")
	want(t, g.ask(attach(old, "")), 200, "passed")
	g.fetched(2)

	// The issuer has withdrawn the old key; the proxy sees it when its keys are old.
	g.clock.move(keysAge)
	want(t, g.ask(attach(old, "")), 401, "Invalid token")
	want(t, g.ask(attach(fresh, "")), 200, "passed")
	g.fetched(3)
}

func TestUnknownKeysAreAskedForOnceAMinute(t *testing.T) {
	t.Parallel()
	g := rotating(t)
	want(t, g.ask(attach(g.token(issuer.Spec{}), "")), 200, "passed")
	unknown, err := g.link.issuer.MintBad("unknown-kid", issuer.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	g.clock.move(refetchAfter - time.Nanosecond)
	g.rotate()
	fresh := g.token(issuer.Spec{})
	for range 100 {
		want(t, g.ask(attach(unknown, "")), 401, "Invalid token")
	}
	want(t, g.ask(attach(fresh, "")), 401, "Invalid token") // not known yet
	g.fetched(1)
	g.clock.move(time.Nanosecond)
	for range 100 {
		want(t, g.ask(attach(unknown, "")), 401, "Invalid token")
	}
	want(t, g.ask(attach(fresh, "")), 200, "passed")
	g.fetched(2)
}

func TestWithoutItsIssuerNoTokenIsCalledInvalid(t *testing.T) {
	t.Parallel()
	g := rotating(t)
	token := g.token(issuer.Spec{})
	g.link.cut.Store(true)
	w := g.ask(attach(token, ""))
	want(t, w, 503, "Issuer unavailable")
	if w.Header().Get("Retry-After") != "60" || !strings.Contains(g.log.String(), "the link is cut") {
		t.Errorf("got %v and %s", w.Header(), g.log)
	}
	g.link.cut.Store(false)
	want(t, g.ask(attach(token, "")), 503, "Issuer unavailable") // within the minute
	g.clock.move(refetchAfter)
	want(t, g.ask(attach(token, "")), 200, "passed")
	g.link.cut.Store(true)
	g.clock.move(keysAge - time.Nanosecond)
	want(t, g.ask(attach(token, "")), 200, "passed") // with the keys that it has
	g.clock.move(time.Nanosecond)
	want(t, g.ask(attach(token, "")), 503, "Issuer unavailable")
}

// issues answers with documents by path.
type issues map[string]string

func (i issues) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(strings.NewReader(i[r.URL.Path])), Request: r}
	if i[r.URL.Path] == "" {
		resp.StatusCode, resp.Status = 404, "404 Not Found"
	}
	return resp, nil
}

func TestAnIssuerWhoseDocumentsAreWrongIsUnavailable(t *testing.T) {
	t.Parallel()
	discovery := `{"issuer":"http://issuer.test","jwks_uri":"http://issuer.test/jwks"}`
	const path = "/.well-known/openid-configuration"
	for name, documents := range map[string]issues{
		"no discovery":                {"/jwks": `{"keys":[]}`},
		"discovery of another issuer": {path: `{"issuer":"http://other.test","jwks_uri":"http://issuer.test/jwks"}`, "/jwks": `{"keys":[]}`},
		"no keys":                     {path: discovery},
		"keys that are no JSON":       {path: discovery, "/jwks": "<html>"},
		"a huge document":             {path: discovery, "/jwks": `{"keys":[` + strings.Repeat(" ", maxDocument) + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Limits{}, func(o *Options) { o.Client = &http.Client{Transport: documents} })
			want(t, g.ask(attach(g.all(), "")), 503, "Issuer unavailable")
		})
	}
}

// ec is the public key of RFC 7515, appendix A.3, and rsaN the modulus of A.2.
const (
	ecX  = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
	ecY  = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
	rsaN = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMs" +
		"D1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdV" +
		"MTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
)

func TestKeysFromElsewhere(t *testing.T) {
	t.Parallel()
	small := base64.RawURLEncoding.EncodeToString(new(big.Int).Lsh(big.NewInt(1), minRSABits-2).Bytes())
	for name, c := range map[string]struct {
		key jwk
		alg string // "": refused
	}{
		"RFC 7515 A.3":             {jwk{Kty: "EC", Crv: "P-256", X: ecX, Y: ecY}, "ES256"},
		"RFC 7515 A.2":             {jwk{Kty: "RSA", N: rsaN, E: "AQAB"}, "RS256"},
		"for signatures":           {jwk{Kty: "RSA", N: rsaN, E: "AQAB", Alg: "RS256", Use: "sig", Ops: []string{"verify"}}, "RS256"},
		"for encryption":           {jwk{Kty: "RSA", N: rsaN, E: "AQAB", Use: "enc"}, ""},
		"for signing only":         {jwk{Kty: "RSA", N: rsaN, E: "AQAB", Ops: []string{"sign"}}, ""},
		"for another algorithm":    {jwk{Kty: "RSA", N: rsaN, E: "AQAB", Alg: "PS256"}, ""},
		"EC for RS256":             {jwk{Kty: "EC", Crv: "P-256", X: ecX, Y: ecY, Alg: "RS256"}, ""},
		"a small modulus":          {jwk{Kty: "RSA", N: small, E: "AQAB"}, ""},
		"a huge modulus":           {jwk{Kty: "RSA", N: strings.Repeat(rsaN, 8), E: "AQAB"}, ""},
		"an even exponent":         {jwk{Kty: "RSA", N: rsaN, E: "Ag"}, ""},
		"the exponent 1":           {jwk{Kty: "RSA", N: rsaN, E: "AQ"}, ""},
		"no exponent":              {jwk{Kty: "RSA", N: rsaN}, ""},
		"a point off the curve":    {jwk{Kty: "EC", Crv: "P-256", X: ecX, Y: ecX}, ""},
		"a short coordinate":       {jwk{Kty: "EC", Crv: "P-256", X: ecX, Y: "AQ"}, ""},
		"another curve":            {jwk{Kty: "EC", Crv: "P-384", X: ecX, Y: ecY}, ""},
		"a secret":                 {jwk{Kty: "oct"}, ""},
		"padded base64":            {jwk{Kty: "EC", Crv: "P-256", X: ecX + "=", Y: ecY}, ""},
		"base64 that is no base64": {jwk{Kty: "RSA", N: "!", E: "AQAB"}, ""},
	} {
		if k, err := c.key.key(); (err == nil) != (c.alg != "") || err == nil && k.alg != c.alg {
			t.Errorf("%s: got %q, %v", name, k.alg, err)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(`{"kty":"EC","crv":"P-256","x":"`+ecX+`","y":"`+ecY+`"}`, "a.b.c")
	f.Add(`{"kty":"RSA","n":"`+rsaN+`","e":"AQAB"}`, "eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, text, token string) {
		var j jwk
		if json.Unmarshal([]byte(text), &j) == nil {
			if k, err := j.key(); err == nil && (k.alg == "") != (k.public == nil) {
				t.Errorf("got %+v", k)
			}
		}
		g := newRig(t, Limits{}, nil)
		if u, err := g.proxy.verifier.verify(t.Context(), token); err == nil {
			t.Errorf("%q is a token of %v", token, u)
		}
	})
}
