package zoo

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
	"assay/fakes/tree"
	"assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
)

const fileToken = "secret"

// files is a client of the files of a gateway. Its methods return what they see in
// one line.
type filesClient struct {
	t   *testing.T
	g   *gateway.Gateway
	rpc filesystemconnect.FilesystemClient
}

// newFilesClient starts a gateway with a link and some files in the home of root.
func newFilesClient(t *testing.T, o Options) filesClient {
	t.Helper()
	var inner tree.Tree
	o.Seams.Tree = func(next tree.Tree) tree.Tree { inner = next; return next }
	g := startGateway(t, o)
	for _, dir := range []string{"/root/d", "/root/d/sub"} {
		if err := inner.Mkdir(dir, "root"); err != nil {
			t.Fatal(err)
		}
	}
	c := filesClient{t, g, filesystemconnect.NewFilesystemClient(gatewaytest.HTTPClient(t, g, "1.1"), g.URL())}
	for name, content := range map[string]string{"/root/f": "old content", "/root/.h": "", "/root/B": "", "/root/d/sub/x": "", "/root/odd\xff": ""} {
		u, err := inner.Create(name, "root")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := u.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	gatewaytest.RoundTrip(t, g, "POST", "/commands", []byte(`{"cmd":"ln -s d link"}`), gatewaytest.UnaryJSON, "X-Access-Token: "+fileToken)
	return c
}

// call calls a procedure with JSON and returns its response or code.
func (c filesClient) call(method, message string, headers ...string) string {
	c.t.Helper()
	a := gatewaytest.RoundTrip(c.t, c.g, "POST", "/filesystem.Filesystem/"+method, []byte(message), append(headers, gatewaytest.UnaryJSON, "X-Access-Token: "+fileToken)...)
	if a.Code != "" {
		return a.Code
	}
	return string(a.Body)
}

// list returns the names of a listing.
func (c filesClient) list(depth uint32) string {
	c.t.Helper()
	req := connect.NewRequest(&filesystem.ListDirRequest{Depth: depth})
	req.Header().Set("X-Access-Token", fileToken)
	res, err := c.rpc.ListDir(gatewaytest.Deadline(c.t), req)
	if err != nil {
		return connect.CodeOf(err).String()
	}
	var names []string
	for _, e := range res.Msg.GetEntries() {
		names = append(names, strings.TrimPrefix(e.GetPath(), "/root/"))
	}
	return strings.Join(names, " ")
}

// http sends a request to /files and returns the status and the body.
func (c filesClient) http(method, query, body string, headers ...string) string {
	c.t.Helper()
	if !strings.Contains(query, "signature") {
		headers = append(headers, "X-Access-Token: "+fileToken)
	}
	a := gatewaytest.RoundTrip(c.t, c.g, method, "/files?"+query, []byte(body), headers...)
	return fmt.Sprint(a.Status, " ", string(a.Body))
}

// put uploads a file.
func (c filesClient) put(path, content string, headers ...string) string {
	return c.http("POST", "path="+path, content, append(headers, "Content-Type: application/octet-stream")...)
}

// get downloads a file.
func (c filesClient) get(path string, headers ...string) string {
	return c.http("GET", "path="+path, "", headers...)
}

// sign returns the query of a signed request.
func sign(g files.Grant) string {
	q := url.Values{"path": {g.Path}, "signature": {g.Signature}}
	if g.Expiration != nil {
		q.Set("signature_expiration", strconv.FormatInt(*g.Expiration, 10))
	}
	return q.Encode()
}

// TestFaultsOfFilesShow runs one observation on the reference and on the faulty
// gateway: want is what the fault shows, and good is what the reference does.
func TestFaultsOfFilesShow(t *testing.T) {
	t.Parallel()
	past, future := int64(1000), int64(4102444800)
	granted := func(g files.Grant) files.Grant {
		g.Path, g.Token = "f", fileToken
		g.Signature = g.Sign()
		return g
	}
	read := granted(files.Grant{Operation: files.OperationRead})
	expired := granted(files.Grant{Operation: files.OperationRead, Expiration: &past})
	prolonged := read
	prolonged.Expiration = &future
	forged := read
	forged.Signature = "v1_x"
	const form = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a/part\"\r\n\r\nx\r\n--X--\r\n"
	const formType = "Content-Type: multipart/form-data; boundary=X"
	big := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		fault      string
		see        func(c filesClient) string
		good, want string // parts of what is seen
	}{
		{"list-without-hidden", func(c filesClient) string { return c.list(1) }, ".h B d", "B d"},
		{"list-order-ignores-case", func(c filesClient) string { return c.put("a", "") + c.list(1) }, "B a d", "a B d"},
		{"list-odd-name-fails", func(c filesClient) string { return c.list(1) }, "odd\ufffd", "internal"},
		{"list-enters-links", func(c filesClient) string { return c.list(2) }, "link odd", "link link/sub odd"},
		{"list-depth-zero-unlimited", func(c filesClient) string { return c.list(0) }, "B d f", "d/sub/x"},
		{"entry-mode-with-type", func(c filesClient) string { return c.call("Stat", `{"path":"d"}`) }, `"mode":493`, `"mode":16877`},
		{"entry-link-without-target", func(c filesClient) string { return c.call("Stat", `{"path":"link"}`) }, `"symlinkTarget":"/root/d"`, `"name":"link"`},
		{"files-user-ignored", func(c filesClient) string { return c.call("Stat", `{"path":"f"}`) }, `"path":"/root/f"`, "not_found"},
		{"stat-missing-internal", func(c filesClient) string { return c.call("Stat", `{"path":"missing"}`) }, "not_found", "internal"},
		{"odd-paths-internal", func(c filesClient) string { return c.call("Stat", `{"path":"f/x"}`) }, "not_found", "internal"},
		{"make-existing-ok", func(c filesClient) string { return c.call("MakeDir", `{"path":"d"}`) }, "already_exists", `"name":"d"`},
		{"move-into-void-fails", func(c filesClient) string { return c.call("Move", `{"source":"f","destination":"n/f"}`) }, `"name":"f"`, "not_found"},
		{"move-leaves-parents", func(c filesClient) string {
			return c.call("Move", `{"source":"missing","destination":"n/f"}`) + c.call("Stat", `{"path":"n"}`)
		}, "not_foundnot_found", `not_found{"entry"`},
		{"move-keeps-source", func(c filesClient) string {
			return c.call("Move", `{"source":"f","destination":"g"}`) + c.call("Stat", `{"path":"f"}`)
		}, "}not_found", `}{"entry"`},
		{"move-replaces-nothing", func(c filesClient) string { return c.call("Move", `{"source":"f","destination":"B"}`) }, `"name":"B"`, "failed_precondition"},
		{"remove-missing-refused", func(c filesClient) string { return c.call("Remove", `{"path":"missing"}`) }, "{}", "not_found"},
		{"remove-follows-links", func(c filesClient) string {
			return c.call("Remove", `{"path":"link"}`) + c.call("Stat", `{"path":"d"}`)
		}, `{}{"entry"`, "{}not_found"},
		{"remove-only-empty", func(c filesClient) string { return c.call("Remove", `{"path":"d"}`) }, "{}", "failed_precondition"},
		{"watcher-unknown-removed", func(c filesClient) string { return c.call("RemoveWatcher", `{"watcherId":"x"}`) }, "not_found", "{}"},
		{"watch-silent", polled(`{}`), "CREATE n, ", "-"},
		{"watch-flat", polled(`{"recursive":true}`), "CREATE d/n", "CREATE n, CHMOD n, WRITE n, RENAME n, CREATE m-"},
		{"watch-without-entry", polled(`{"includeEntry":true}`), "+", "CREATE n, "},
		{"watch-rename-as-remove", polled(`{}`), "RENAME n", "REMOVE n"},
		{"watch-no-chmod", polled(`{}`), "CHMOD n", "CREATE n, WRITE n"},
		{"watcher-not-drained", polled(`{}`), "-", "-CREATE n"},
		{"watch-without-start", func(c filesClient) string {
			a := gatewaytest.RoundTrip(c.t, c.g, "POST", filesystemconnect.FilesystemWatchDirProcedure, gatewaytest.Envelope(0, "{}"),
				gatewaytest.Streaming, "Connect-Timeout-Ms: 50", "X-Access-Token: "+fileToken)
			return fmt.Sprint(len(a.Frames), a.Code)
		}, "2deadline_exceeded", "1deadline_exceeded"},
		{"upload-as-text", func(c filesClient) string { return c.put("n", "\x89PNG") + c.get("n") }, "200 \x89PNG", "200 \xef\xbf\xbdPNG"},
		{"upload-large-lost", func(c filesClient) string { return c.put("n", big) + c.get("n") }, "200 xxx", "404 "},
		{"upload-keeps-tail", func(c filesClient) string { return c.put("f", "new") + "|" + c.get("f") + "|" }, "|200 new|", "|200 new content|"},
		{"upload-in-place", func(c filesClient) string {
			return c.http("POST", "path=f", strings.TrimSuffix(form, "\r\n--X--\r\n"), formType) + c.get("f")
		}, "200 old content", "200 x"},
		{"metadata-lost", func(c filesClient) string { return c.put("n", "", "X-Metadata-K: v") + c.call("Stat", `{"path":"n"}`) }, `"metadata":{"k":"v"}}}`, `"name":"n"`},
		{"metadata-merged", func(c filesClient) string {
			return c.put("n", "", "X-Metadata-K: v") + c.put("n", "") + c.call("Stat", `{"path":"n"}`)
		}, `Z"}}`, `"metadata":{"k":"v"}}}`},
		{"range-end-excluded", func(c filesClient) string { return c.get("f", "Range: bytes=0-2") + "|" }, "206 old|", "206 ol|"},
		{"download-missing-empty", func(c filesClient) string { return c.get("missing") }, "404", "200 "},
		{"files-error-code-text", func(c filesClient) string { return c.get("missing") }, `{"code":404,"message"`, `{"code":"404","message"`},
		{"gzip-unasked", func(c filesClient) string { return c.get("f") }, "200 old", "200 \x1f\x8b"},
		{"gzip-unnamed", func(c filesClient) string {
			a := gatewaytest.RoundTrip(c.t, c.g, "GET", "/files?path=f", nil, "Accept-Encoding: gzip", "X-Access-Token: "+fileToken)
			return fmt.Sprintf("%q", a.Header.Get("Content-Encoding"))
		}, `"gzip"`, `""`},
		{"signature-unchecked", func(c filesClient) string { return c.http("GET", sign(forged), "") }, "401", "200"},
		{"signature-for-ever", func(c filesClient) string { return c.http("GET", sign(expired), "") }, "401", "200"},
		{"signature-expiration-unsigned", func(c filesClient) string { return c.http("GET", sign(prolonged), "") }, "401", "200"},
		{"signature-any-operation", func(c filesClient) string {
			return c.http("POST", sign(read), "x", "Content-Type: application/octet-stream")
		}, "401", "200"},
		{"signature-opens-everything", func(c filesClient) string {
			return strconv.Itoa(gatewaytest.RoundTrip(c.t, c.g, http.MethodGet, "/envs?signature=x", nil).Status)
		}, "401", "200"},
		{"signature-name-beats-path", func(c filesClient) string { return c.http("POST", "path=n", form, formType) }, `"path":"/root/n"`, `"path":"/root/a/part"`},
		{"upload-base-name", func(c filesClient) string { return c.put("a/b/n", "") }, `"/root/a/b/n"`, `"/root/n"`},
		{"upload-gzip-stored", func(c filesClient) string {
			return c.put("n", string(gatewaytest.Gzipped([]byte("x"))), "Content-Encoding: gzip") + c.get("n")
		}, "200 x", "200 \x1f\x8b"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			for fault, want := range map[string]string{"": c.good, c.fault: c.want} {
				o := Options{Options: gateway.Options{Token: fileToken}}
				if fault != "" {
					o.Faults = []string{fault}
				}
				if got := c.see(newFilesClient(t, o)); !strings.Contains(got, want) || fault != "" && strings.Contains(got, c.good) && !strings.Contains(c.want, c.good) && !strings.Contains(c.good, c.want) {
					t.Errorf("%q: %q, want %q", fault, got, want)
				}
			}
		})
	}
}

// polled polls a watcher of the home twice around some changes; a dash separates
// the polls, and a plus marks an entry.
func polled(options string) func(c filesClient) string {
	return func(c filesClient) string {
		id := strings.TrimSuffix(strings.TrimPrefix(c.call("CreateWatcher", options), `{"watcherId":"`), `"}`)
		c.put("n", "content")
		c.call("Move", `{"source":"n","destination":"m"}`)
		c.call("MakeDir", `{"path":"d/n"}`)
		var polls []string
		for range 2 {
			req := connect.NewRequest(&filesystem.GetWatcherEventsRequest{WatcherId: id})
			req.Header().Set("X-Access-Token", fileToken)
			res, err := c.rpc.GetWatcherEvents(gatewaytest.Deadline(c.t), req)
			if err != nil {
				c.t.Fatal(err)
			}
			var events []string
			for _, e := range res.Msg.GetEvents() {
				text := strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_") + " " + e.GetName()
				if e.Entry != nil {
					text += "+"
				}
				events = append(events, text)
			}
			polls = append(polls, strings.Join(events, ", "))
		}
		return strings.Join(polls, "-")
	}
}

// Content-Length is there, so that only Expect shows that nothing waits for the body.
func TestFaultUploadRefusalWaits(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]int{"": 400, "upload-refusal-waits": 100} {
		var o Options
		if fault != "" {
			o.Faults = []string{fault}
		}
		c := gatewaytest.Dial(t, startGateway(t, o))
		c.Request("POST", "/files", nil, "Content-Type: application/octet-stream", "Expect: 100-continue", "Content-Length: 4")
		if a := c.Answer("POST"); a.Status != want {
			t.Errorf("%q: %d, want %d", fault, a.Status, want)
		}
	}
}

func TestVariantsOfFilesKeepTheirContent(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"directories-have-sizes", "files-of-another-group", "watch-writes-twice", "downloads-never-compressed", "downloads-always-whole", "upload-answer-as-text", "downloads-with-etag"} {
		c := newFilesClient(t, Options{Options: gateway.Options{Token: fileToken}, Variants: []string{id}})
		if got := c.put("v/f", "content") + c.get("v/f") + c.get("v/f", "Range: bytes=0-6"); !strings.HasSuffix(strings.Replace(got, "206", "200", 1), "200 content200 content") {
			t.Errorf("%s: %s", id, got)
		}
		if got := polled(`{}`)(c); !strings.HasPrefix(got, "CREATE n, CHMOD n") || !strings.Contains(got, "RENAME n, CREATE m") {
			t.Errorf("%s: %s", id, got)
		}
	}
}
