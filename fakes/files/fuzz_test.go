package files_test

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"assay/fakes/files"
	"assay/fakes/virtual"
)

// FuzzUpload sends any form to any query: the response is a list of clean absolute
// paths, each of which exists, or an error of the client.
func FuzzUpload(f *testing.F) {
	body, _ := form(`name="file"; filename="x/1.txt"`, "one", `name="file"; filename="../2"`, "two")
	f.Add("path=a", "multipart/form-data; boundary=XX", body)
	f.Add("", "multipart/form-data; boundary=XX", body)
	f.Add("path=~/x&username=root&signature=v1_&signature_expiration=-1", "application/octet-stream", "\x1f\x8b")
	f.Add("path=%zz;", `multipart/mixed; boundary="a b"`, "--a b\r\nContent-Disposition: form-data; name=file; filename*=utf-8''%2e%2e\r\n\r\n\r\n--a b--")
	f.Fuzz(func(t *testing.T, query, kind, content string) {
		tree := virtual.New(virtual.Options{}).Files()
		server := files.New(files.Options{Tree: tree, Settings: settings{}, CheckUser: func(*http.Request) error { return nil }})
		for _, encoding := range []string{"", "gzip"} {
			r := httptest.NewRequest(http.MethodPost, "/files", strings.NewReader(content))
			r.URL.RawQuery = query
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Content-Encoding", encoding)
			w := httptest.NewRecorder()
			server.Files().ServeHTTP(w, r)
			a := answer{w.Result(), w.Body.String()}
			if a.StatusCode >= 500 {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
			if a.StatusCode != 200 {
				a.message(t)
				continue
			}
			for _, name := range a.written(t) {
				if _, err := tree.Lstat(name); !path.IsAbs(name) || path.Clean(name) != name || err != nil && !strings.Contains(name, "\ufffd") {
					t.Errorf("%q: %v", name, err)
				}
			}
		}
	})
}

// FuzzGrant checks that only the grant that was signed is valid.
func FuzzGrant(f *testing.F) {
	f.Add("f", "read", "", "secret", int64(0), "g", int64(1))
	f.Add("a:read", "b", "c", "secret:1", int64(-1), "a", int64(-1))
	f.Fuzz(func(t *testing.T, name, operation, user, token string, until int64, other string, later int64) {
		g := files.Grant{Path: name, Operation: operation, Username: user, Token: token, Expiration: &until}
		g.Signature = g.Sign()
		if err := g.Check(time.Unix(until, 0)); err != nil {
			t.Fatal(err)
		}
		if until != later {
			changed := g
			changed.Expiration = &later
			if changed.Check(time.Unix(min(until, later), 0)) == nil {
				t.Error("another expiration is valid")
			}
		}
		if strings.ContainsRune(name+other, ':') || name == other {
			return // the formula does not separate its parts
		}
		g.Path = other
		if g.Check(time.Unix(until, 0)) == nil {
			t.Error("another path is valid")
		}
	})
}
