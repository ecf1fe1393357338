package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/gatewaytest"
	"assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
)

const octets = "Content-Type: application/octet-stream"

// home is the home of the default user.
const home = "/root"

// upload writes a file through the gateway.
func upload(t *testing.T, g *Gateway, name, content string, headers ...string) gatewaytest.Answer {
	t.Helper()
	return gatewaytest.RoundTrip(t, g, "POST", "/files?path="+name, []byte(content), append(headers, octets)...)
}

func TestFilesystemIsServedOverEveryProtocolAndCodec(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	upload(t, g, "f", "twelve bytes")
	for protocol, option := range map[string]connect.ClientOption{"connect": connect.WithClientOptions(), "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb()} {
		for codec, options := range codecs() {
			t.Run(protocol+" "+codec, func(t *testing.T) {
				c := filesystemconnect.NewFilesystemClient(gatewaytest.HTTPClient(t, g, "h2c"), g.URL(), append(options, option)...)
				ctx := gatewaytest.Deadline(t)
				res, err := c.Stat(ctx, connect.NewRequest(&filesystem.StatRequest{Path: "f"}))
				if err != nil || res.Msg.GetEntry().GetSize() != 12 || res.Msg.GetEntry().GetPath() != home+"/f" {
					t.Errorf("%v %v", res, err)
				}
				_, err = c.Stat(ctx, connect.NewRequest(&filesystem.StatRequest{Path: "missing"}))
				gatewaytest.WantCode(t, "a missing file", err, connect.CodeNotFound)
				w, err := c.WatchDir(ctx, connect.NewRequest(&filesystem.WatchDirRequest{Path: "/tmp"}))
				if err != nil {
					t.Fatal(err)
				}
				if !w.Receive() || w.Msg().GetStart() == nil {
					t.Errorf("%v %v", w.Msg(), w.Err())
				}
			})
		}
	}
}

func TestFeaturesOfFilesCanBeAbsent(t *testing.T) {
	t.Parallel()
	for feature, gone := range map[string]string{
		files.FeatureFilesystem: "/filesystem.Filesystem/Stat", files.FeatureFiles: "/files?path=f", files.FeatureWatch: "/filesystem.Filesystem/CreateWatcher",
	} {
		g := startGateway(t, Options{Without: []string{feature}})
		for _, path := range []string{"/filesystem.Filesystem/Stat", "/files?path=f", "/filesystem.Filesystem/CreateWatcher"} {
			kind := gatewaytest.UnaryJSON
			if strings.HasPrefix(path, "/files?") {
				kind = octets
			}
			a := gatewaytest.RoundTrip(t, g, "POST", path, []byte(`{"path":"/"}`), kind)
			want := path != gone && (feature != files.FeatureFilesystem || strings.HasPrefix(path, "/files?"))
			if (a.Status == 200) != want {
				t.Errorf("%s without %s: %d", path, feature, a.Status)
			}
		}
	}
}

// A browser sends an upload of a page as a form, without asking first, but with the
// origin of the page.
func TestAPageCannotWriteAFileWithoutAToken(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	const form = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"evil\"\r\n\r\nx\r\n--X--\r\n"
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"the SDK":                          {nil, 200},
		"a page":                           {[]string{"Origin: http://evil.example"}, 403},
		"a sandboxed page":                 {[]string{"Origin: null"}, 403},
		"a page of a site without origin":  {[]string{"Sec-Fetch-Site: cross-site"}, 403},
		"a page of another port":           {[]string{"Sec-Fetch-Site: same-site"}, 403},
		"a page of the gateway itself":     {[]string{"Sec-Fetch-Site: same-origin"}, 200},
		"the address bar and its reloads":  {[]string{"Sec-Fetch-Site: none"}, 200},
		"a name that resolves to this one": {[]string{"Host: evil.example"}, 403},
	} {
		head := append([]string{"POST /files HTTP/1.1", "Content-Type: multipart/form-data; boundary=X"}, c.headers...)
		if !strings.HasPrefix(strings.Join(c.headers, ""), "Host") {
			head = append(head, "Host: 127.0.0.1")
		}
		if a := send(t, g, head, form); a.Status != c.status {
			t.Errorf("%s: %d, want %d", name, a.Status, c.status)
		}
	}
	for _, path := range []string{"/files/compose", "/init"} {
		if a := send(t, g, []string{"POST " + path + " HTTP/1.1", "Host: 127.0.0.1", "Content-Type: text/plain"}, "{}"); a.Status != 400 {
			t.Errorf("%s with the body of a form: %d", path, a.Status)
		}
	}
}

func TestInitChangesWhatLaterCommandsGet(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Envs: map[string]string{"GIVEN": "1"}, Workdir: "/tmp"})
	envs := func() string {
		var all map[string]string
		a := gatewaytest.RoundTrip(t, g, "GET", "/envs", nil)
		if err := json.Unmarshal(a.Body, &all); err != nil || a.Status != 200 || all["E2B_SANDBOX"] != "true" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		delete(all, "E2B_SANDBOX")
		b, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	printed := func() string {
		return strings.Join(gatewaytest.NDJSON(t, g, `{"cmd":"echo $GIVEN:$NEW:$E2B_SANDBOX:$USER; pwd"}`), "\n")
	}
	post := func(body string, want int) {
		t.Helper()
		a := gatewaytest.RoundTrip(t, g, "POST", "/init", []byte(body), gatewaytest.UnaryJSON)
		if a.Status != want || a.Header.Get("X-Envd-Version") == "" {
			t.Errorf("%s: %d %v, want %d", body, a.Status, a.Header, want)
		}
	}
	if out := printed(); envs() != `{"GIVEN":"1"}` || !strings.Contains(out, "1::true:root") || !strings.Contains(out, "/tmp") {
		t.Errorf("%s %s", envs(), out)
	}
	for _, body := range []string{"", "{}", "null", `{"unknown":1}`, `{"defaultUser":"","defaultWorkdir":""}`} {
		post(body, 204)
	}
	if envs() != `{"GIVEN":"1"}` {
		t.Errorf("an empty request changed %s", envs())
	}
	for _, body := range []string{"{", "[]", `{"envVars":1}`, `{"accessToken":""}`} {
		post(body, 400)
	}
	post(`{"envVars":{"NEW":"2","E2B_SANDBOX":"no"},"defaultUser":"user","defaultWorkdir":"/","timestamp":"2030-01-01T00:00:00Z"}`, 204)
	post(`{"envVars":{"LATE":"3"},"timestamp":"2029-01-01T00:00:00Z"}`, 204)
	if out := printed(); envs() != `{"NEW":"2"}` || !strings.Contains(out, ":2:true:user") || !strings.Contains(out, `"/\n"`) && !strings.Contains(out, `"/"`) {
		t.Errorf("%s %s", envs(), out)
	}
	post(`{"defaultUser":"ghost"}`, 204)
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON)
	if b := gatewaytest.RoundTrip(t, g, "GET", "/files?path=f", nil); a.Code != "unauthenticated" || b.Status != 401 {
		t.Errorf("an unknown default user: %d %s, %d", a.Status, a.Body, b.Status)
	}
}

func TestTheFirstTokenOfInitSticks(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{`{"accessToken":"one"}`, 204, ""}, {`{"accessToken":"one"}`, 204, ""}, {`{}`, 401, "access token reset not authorized\n"},
		{`{"accessToken":"two"}`, 401, "access token validation failed\n"},
	} {
		if a := gatewaytest.RoundTrip(t, g, "POST", "/init", []byte(c.body), gatewaytest.UnaryJSON); a.Status != c.status || string(a.Body) != c.text {
			t.Errorf("%s: %d %q", c.body, a.Status, a.Body)
		}
	}
	for token, want := range map[string]int{"one": 200, "two": 401, "": 401} {
		if a := gatewaytest.RoundTrip(t, g, "GET", "/commands", nil, "X-Access-Token: "+token); a.Status != want {
			t.Errorf("token %q: %d", token, a.Status)
		}
	}
}

func TestMetricsAreJSONForWhoPrefersIt(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for accept, want := range map[string]string{
		"application/json": "application/json", "application/json, text/plain;q=0.5": "application/json", "application/json;q=0.9, */*;q=0.1": "application/json",
		"": "text/plain", "*/*": "text/plain", "application/json, text/plain, */*": "text/plain", "application/json;q=0": "text/plain",
	} {
		a := gatewaytest.RoundTrip(t, g, "GET", "/metrics", nil, "Accept: "+accept)
		if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), want) {
			t.Errorf("%q: %d %v", accept, a.Status, a.Header)
		}
	}
}
