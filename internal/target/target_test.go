package target_test

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

func TestURLThatCannotBeTestedIsRefusedWithAdvice(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"empty", "", "http://HOST:PORT"},
		{"no scheme", "127.0.0.1:8081", "write http://127.0.0.1:8081"},
		{"no scheme with a name", "localhost:8081", "write http://localhost:8081"},
		{"another scheme", "ftp://127.0.0.1", "ftp"},
		{"a password", "http://u:hidden@127.0.0.1", "--token-file"},
		{"a password without a scheme", "u:hidden@127.0.0.1:9", "--token-file"},
		{"a password with one slash", "http:/u:hidden@127.0.0.1:9", "--token-file"},
		{"a password with a slash", "http://u:hidden/x@127.0.0.1:9", "--token-file"},
		{"a password with a hash", "http://u:hidden#x@127.0.0.1:9", "--token-file"},
		{"a password with a question mark", "http://u:hidden?x@127.0.0.1:9", "--token-file"},
		{"a password with a scheme that is not tested", "ftp://u:hidden@127.0.0.1:9", "--token-file"},
		{"no host", "http:///x", "no host"},
		{"a query without a scheme", "127.0.0.1/?token=hidden", "write http://127.0.0.1/"},
		{"a token in the query", "http://127.0.0.1/?token=hidden", "query"},
		{"a port and a query", "ws://127.0.0.1:70000/?x=hidden", "65535"},
		{"a token for a socket", "ws://127.0.0.1/?token=hidden", "--token-file"},
		{"a key for a socket", "ws://127.0.0.1/?api_key=hidden", "--header-file"},
		{"a query", "http://127.0.0.1/?a=b", "query"},
		{"a port out of range", "http://127.0.0.1:70000", "65535"},
		{"control characters", "http://127.0.0.1/\x01", "invalid URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := target.New(target.Options{URL: tt.url})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Error("the message holds the password")
			}
		})
	}
}

func TestOptionsThatMakeNoRequestAreRefused(t *testing.T) {
	const url = "http://127.0.0.1:1"
	for name, o := range map[string]target.Options{
		"an unknown surface":              {URL: url, Paths: map[string]string{"admin": "/x"}},
		"a path with a query":             {URL: url, Paths: map[string]string{"metrics": "/m?x=1"}},
		"a path with a NUL":               {URL: url, Paths: map[string]string{"metrics": "/m\x00"}},
		"a path that is not escaped":      {URL: url, Paths: map[string]string{"metrics": "/é"}},
		"a path that is wrongly escaped":  {URL: url, Paths: map[string]string{"metrics": "/%zz"}},
		"a header with a line break":      {URL: url, Headers: []bundle.Header{{Name: "a", Value: "b\r\nc: d"}}},
		"a header without a name":         {URL: url, Headers: []bundle.Header{{Value: "b"}}},
		"a header name with a space":      {URL: url, Headers: []bundle.Header{{Name: "a b"}}},
		"a token with a line break":       {URL: url, Token: "a\nb"},
		"a user with a password":          {URL: url, User: "root:pass"},
		"a time scale that runs backward": {URL: url, TimeScale: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := target.New(o); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestPathsAreJoinedBySingleSlashes(t *testing.T) {
	plain := newTarget(t, target.Options{URL: "http://127.0.0.1:8081"})
	prefixed := newTarget(t, target.Options{URL: "http://127.0.0.1/sandbox/a%2Fb/", Paths: map[string]string{"process": "rpc/", "health": ""}})
	tests := []struct {
		target              *target.Target
		surface, rest, want string
	}{
		{plain, "process", "process.Process/Start", "/process.Process/Start"},
		{plain, "commands", "", "/commands"},
		{plain, "commands", "12/kill", "/commands/12/kill"},
		{plain, "", "/x", "/x"},
		{plain, "process", "", "/"},
		{prefixed, "process", "/process.Process/Start", "/sandbox/a%2Fb/rpc/process.Process/Start"},
		{prefixed, "metrics", "", "/sandbox/a%2Fb/metrics"},
		{prefixed, "health", "", "/sandbox/a%2Fb"},
	}
	for _, tt := range tests {
		if got := tt.target.Path(tt.surface, tt.rest); got != tt.want {
			t.Errorf("Path(%q, %q) = %q, want %q", tt.surface, tt.rest, got, tt.want)
		}
	}
}

func TestAddrHasAPort(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1": "127.0.0.1:80", "http://h:81/x": "h:81", "http://[::1]": "[::1]:80", "HTTP://[::1]:82": "[::1]:82",
	} {
		if got := newTarget(t, target.Options{URL: url}).Addr(); got != want {
			t.Errorf("Addr of %s = %q, want %q", url, got, want)
		}
	}
}

func TestHeadersHaveTheOrderOfTheSDK(t *testing.T) {
	tg := newTarget(t, target.Options{
		URL: "http://127.0.0.1:8081/x", User: "root", Token: "tok", UserAgent: "assay/1.2",
		Headers: []bundle.Header{{Name: "Accept", Value: "x"}, {Name: "Cookie", Value: "session=abcdef"}},
	})
	var got []string
	for _, h := range tg.Headers("a.scenario", "run1") {
		got = append(got, h.Name+": "+h.Value)
	}
	want := []string{
		"host: 127.0.0.1:8081", "connection: keep-alive", "authorization: Basic cm9vdDo=",
		"user-agent: assay/1.2 (a.scenario; run1)", "accept-language: *", "sec-fetch-mode: cors",
		"x-access-token: tok", "Accept: x", "Cookie: session=abcdef",
	}
	if !slices.Equal(got, want) {
		t.Errorf("headers = %q, want %q", got, want)
	}
}

func TestSecretsAreTheTokenAndTheHeadersThatNobodyKnows(t *testing.T) {
	o := target.Options{Token: "tok", Headers: []bundle.Header{
		{Name: "Authorization", Value: "Bearer abc"}, {Name: "E2b-Sandbox-Id", Value: "box"}, {Name: "X-API-Key", Value: "key1"},
		{Name: "X-Box", Value: "plain-4242"}, {Name: "X-Session", Value: "s1"}, {Name: "X-Debug", Value: "true"}, {Name: "Accept-Language", Value: "en-GB, en;q=0.9"},
		{Name: "Cookie", Value: `theme=dark; session=c1; id="long-enough"`}, {Name: "Proxy-Authorization", Value: "Basic dTpwYXNz"},
	}}
	want := []string{
		"tok", "Bearer abc", "abc", "key1", "plain-4242", "s1",
		`theme=dark; session=c1; id="long-enough"`, "c1", "long-enough", "Basic dTpwYXNz", "dTpwYXNz", "u:pass", "pass",
	}
	if got := o.Secrets(); !slices.Equal(got, want) {
		t.Errorf("secrets = %q, want %q", got, want)
	}
}

func TestShellAndIdentityHaveDefaults(t *testing.T) {
	tg := newTarget(t, target.Options{URL: "http://127.0.0.1:1", Token: "hidden", Embedded: true})
	if got := tg.Shell(); !slices.Equal(got, []string{"/bin/sh", "-c"}) {
		t.Errorf("shell = %q", got)
	}
	id := tg.Identity()
	if id.URL != "http://127.0.0.1:1" || !id.Embedded || id.Paths["commands"] != "/commands" || !slices.Equal(id.Shell, tg.Shell()) {
		t.Errorf("identity = %+v", id)
	}
	id.Shell[0], id.Paths["commands"] = "x", "x"
	if tg.Shell()[0] == "x" || tg.Path("commands", "") == "x" {
		t.Error("changing the result of Identity changes the target")
	}
}
