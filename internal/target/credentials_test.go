package target_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// bearers is a gateway that reads the token in Authorization. Its calls of processes ask for it with a challenge.
func bearers(challenge string) http.Handler {
	inner := (&gateway{}).handler()
	mux := http.NewServeMux()
	mux.Handle("GET /attach", &sockets{token: goodToken})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+goodToken {
			w.Header().Set("WWW-Authenticate", challenge)
			inWords(w, 401, "unauthenticated", "no bearer token")
			return
		}
		inner.ServeHTTP(w, r)
	})
	return mux
}

func TestATokenInAnotherHeaderThanTheGatewayReadsIsExplained(t *testing.T) {
	for name, tt := range map[string]struct {
		options target.Options
		want    []string
	}{
		"as X-Access-Token": {target.Options{Token: goodToken}, []string{
			"it rejects the credentials (POST /process.Process/List returns 401).", `It says: "no bearer token".`, "Sent: x-access-token.",
			`Its WWW-Authenticate: "Bearer realm=\"box ***`, "use --token-scheme bearer", "give their URL, ws://127.0.0.1:", "/attach.",
		}},
		"beside a user and a header": {target.Options{Token: goodToken, User: "root", Headers: []bundle.Header{{Name: "X-Api-Key", Value: "a-long-key"}}}, []string{
			"Sent: authorization, x-access-token, x-api-key.",
		}},
		"as a bearer, with another token": {target.Options{Token: "another-token", TokenScheme: "bearer"}, []string{
			"Sent: authorization.", "use --token-scheme x-access-token",
		}},
		"without a token": {target.Options{}, []string{"it requires credentials", `Its WWW-Authenticate: "Bearer`, "--token-file"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.URL = serveHTTP(t, bearers("Bearer realm=\"box "+goodToken+"\"\t"+strings.Repeat("x", 500)))
			_, err := newTarget(t, tt.options).Calibrate(context.Background(), transport.NewClock())
			var u *target.UnreachableError
			if !errors.As(err, &u) {
				t.Fatalf("err = %v, want the target unusable although its WebSockets accept the token", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nwant %q in it", err, part)
				}
			}
			if tt.options.Token == goodToken && strings.Contains(err.Error(), goodToken) || strings.Contains(err.Error(), "a-long-key") || strings.Contains(err.Error(), strings.Repeat("x", 300)) {
				t.Errorf("%v\nwant no secret, and no long words", err)
			}
		})
	}
}

// A ws URL names the stdio surface alone, which gets the token as a bearer under every scheme.
func TestASocketIsMeasuredWhateverItsOtherPathsAskFor(t *testing.T) {
	for _, scheme := range []string{"", "x-access-token", "bearer"} {
		url := "ws" + strings.TrimPrefix(serveHTTP(t, bearers("Bearer")), "http") + "/attach"
		if _, err := newTarget(t, target.Options{URL: url, Token: goodToken, TokenScheme: scheme}).Calibrate(context.Background(), transport.NewClock()); err != nil {
			t.Errorf("%q: %v", scheme, err)
		}
	}
}

// A gateway that reads Authorization is blamed for nothing that is only about X-Access-Token or a user.
func TestWithABearerTokenTheTargetIsProbed(t *testing.T) {
	f := probe(t, target.Options{URL: serveHTTP(t, bearers("Bearer")), Token: goodToken, TokenScheme: "bearer"}, "process.start", "process.list", "stdio.ws", "auth.token", "process.user")
	for id, got := range f {
		want, hidden := bundle.FeaturePresent, false
		if id == "auth.token" || id == "process.user" {
			want, hidden = bundle.FeatureAbsent, true
		}
		if got.State != want || got.Hidden != hidden {
			t.Errorf("%s = %+v, want it %s, hidden: %t", id, got, want, hidden)
		}
	}
}

func TestTheTokenIsSentAsItsSchemeSays(t *testing.T) {
	for _, tt := range []struct{ scheme, name, value string }{
		{"", "x-access-token", goodToken}, {"x-access-token", "x-access-token", goodToken}, {"bearer", "authorization", "Bearer " + goodToken},
	} {
		tg := newTarget(t, target.Options{URL: "http://127.0.0.1:1", Token: goodToken, TokenScheme: tt.scheme})
		var sent []bundle.Header
		for _, h := range tg.Headers("s", "r") {
			if strings.Contains(h.Value, goodToken) {
				sent = append(sent, h)
			}
		}
		if len(sent) != 1 || sent[0] != (bundle.Header{Name: tt.name, Value: tt.value}) {
			t.Errorf("%q: %v, want %s: %s", tt.scheme, sent, tt.name, tt.value)
		}
		if text := tg.Redactor().Text(tt.value); strings.Contains(text, goodToken) {
			t.Errorf("%q: shown as %q", tt.scheme, text)
		}
	}
	for want, o := range map[string]target.Options{
		"no token scheme \"basic\"": {TokenScheme: "basic"},
		"leave out --user":          {TokenScheme: "bearer", Token: goodToken, User: "root"},
	} {
		o.URL = "http://127.0.0.1:1"
		if _, err := target.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q in it", err, want)
		}
	}
}

// The reference gateway and the sandboxes of a control plane have one header for the token.
func TestTheSchemeIsThatOfTheGivenTarget(t *testing.T) {
	o := target.Options{URL: "http://127.0.0.1:1", Token: goodToken, TokenScheme: "bearer"}
	box, err := newTarget(t, o).Sandbox(target.Place{ID: "i1", AccessToken: "a-token-of-a-sandbox"})
	if err != nil {
		t.Fatal(err)
	}
	o.Embedded = true
	for name, tg := range map[string]*target.Target{"a sandbox": box, "the reference gateway": newTarget(t, o)} {
		found := false
		for _, h := range tg.Headers("s", "r") {
			found = found || h.Name == "x-access-token"
		}
		if !found {
			t.Errorf("%s gets the token elsewhere: %v", name, tg.Headers("s", "r"))
		}
	}
}

// Metrics may need more rights than processes: then they cannot be tested with these credentials.
func TestMetricsThatTheCredentialsMayNotReadAreUntestable(t *testing.T) {
	f := probe(t, target.Options{URL: answers(t, 403, "text/plain", "missing scope")}, "metrics.prometheus", "metrics.process")
	for id, got := range f {
		if got.State != bundle.FeatureAbsent || !got.Hidden {
			t.Errorf("%s = %+v, want it hidden", id, got)
		}
	}
}
