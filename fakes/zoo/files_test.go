package zoo

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
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

func newFilesClient(t *testing.T, o Options) filesClient {
	t.Helper()
	g := startGateway(t, o)
	gatewaytest.RoundTrip(t, g, "POST", "/commands", []byte(`{"cmd":"mkdir d"}`), gatewaytest.UnaryJSON, "X-Access-Token: "+fileToken)
	return filesClient{t, g, filesystemconnect.NewFilesystemClient(gatewaytest.HTTPClient(t, g, "1.1"), g.URL())}
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
