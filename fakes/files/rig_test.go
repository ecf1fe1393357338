package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/gatewaytest"
	"assay/fakes/tree"
	"assay/fakes/virtual"
	"assay/internal/envd/filesystem/filesystemconnect"
	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// settings are fixed.
type settings struct{ token, workdir string }

func (s settings) Token() string { return s.token }
func (settings) User() string    { return "user" }
func (s settings) Workdir() string {
	return s.workdir
}

// rig is a server over a fresh sandbox. The caller of an RPC is the header User.
type rig struct {
	t    *testing.T
	tree tree.Tree
	url  string
	rpc  filesystemconnect.FilesystemClient
	http *http.Client
	// keepalives are the functions that wait for the clock.
	keepalives chan func()
}

type userKey struct{}

func newRig(t *testing.T, s settings, change ...func(*files.Options)) *rig {
	t.Helper()
	g := &rig{t: t, tree: virtual.New(virtual.Options{}).Files(), keepalives: make(chan func(), 100)}
	o := files.Options{
		Tree: g.tree, Settings: s,
		Caller: func(ctx context.Context) string {
			if name, _ := ctx.Value(userKey{}).(string); name != "" {
				return name
			}
			return "user"
		},
		CheckUser: func(*http.Request) error { return nil },
		AfterFunc: func(_ time.Duration, f func()) func() bool {
			select {
			case g.keepalives <- f:
			default:
			}
			return func() bool { return true }
		},
		Keepalive: func(http.Header) time.Duration { return time.Minute },
	}
	for _, c := range change {
		c(&o)
	}
	server := files.New(o)
	mux := http.NewServeMux()
	mux.Handle("/files", server.Files())
	mux.Handle("/files/compose", server.Compose())
	path, rpc := server.Filesystem()
	mux.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rpc.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, r.Header.Get("User"))))
	}))
	h := httptest.NewServer(mux)
	g.url, g.http = h.URL, h.Client()
	g.rpc = filesystemconnect.NewFilesystemClient(g.http, h.URL, connect.WithAcceptCompression("gzip", nil, nil)) // which would take most of the time
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		server.Close()
	})
	return g
}

// has puts files and directories (with a slash at the end) into the sandbox.
func (g *rig) has(names ...string) {
	g.t.Helper()
	for _, name := range names {
		for i := 1; i < len(name); i++ {
			if name[i] == '/' {
				_ = g.tree.Mkdir(name[:i], "user") // it may exist
			}
		}
		if !strings.HasSuffix(name, "/") {
			g.put(name, "content of "+name)
		}
	}
}

// put writes a file.
func (g *rig) put(name, content string) {
	g.t.Helper()
	u, err := g.tree.Create(name, "user")
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := io.WriteString(u, content); err != nil {
		g.t.Fatal(err)
	}
	if err := u.Commit(); err != nil {
		g.t.Fatal(err)
	}
}

// content returns the content of a file, and "-" if there is none.
func (g *rig) content(name string) string {
	g.t.Helper()
	f, err := g.tree.Open(name)
	if err != nil {
		return "-"
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// exists reports whether there is an entry.
func (g *rig) exists(name string) bool {
	_, err := g.tree.Lstat(name)
	return err == nil
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

// do sends a request. Headers are "Name: value".
func (g *rig) do(method, target, body string, headers ...string) answer {
	g.t.Helper()
	req, err := http.NewRequestWithContext(gatewaytest.Deadline(g.t), method, g.url+target, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := g.http.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{res, string(raw)}
}

// message returns the message of an error body, whose code must be the status.
func (a answer) message(t *testing.T) string {
	t.Helper()
	var e struct {
		Code    int
		Message string
	}
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Code != a.StatusCode || a.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("%d %q %q is no error of /files", a.StatusCode, a.Header.Get("Content-Type"), a.body)
	}
	return e.Message
}

// wantCode compares the code of an error; 0 is none.
func wantCode(t *testing.T, what string, err error, want connect.Code) {
	t.Helper()
	if err == nil && want == 0 {
		return
	}
	if connect.CodeOf(err) != want || err == nil {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

const octets = "Content-Type: application/octet-stream"

// form is a multipart body, and its content type. Parts are name, content, …
func form(parts ...string) (body, contentType string) {
	var b bytes.Buffer
	for i := 0; i < len(parts); i += 2 {
		b.WriteString("--XX\r\nContent-Disposition: form-data; " + parts[i] + "\r\n\r\n" + parts[i+1] + "\r\n")
	}
	b.WriteString("--XX--\r\n")
	return b.String(), "Content-Type: multipart/form-data; boundary=XX"
}

// home is that of the user user.
const home = "/home/user"

// at is a request for a file.
func at(path string) string { return "/files?path=" + url.QueryEscape(path) }
