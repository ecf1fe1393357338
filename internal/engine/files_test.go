package engine

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// disk serves files by their paths. A part of a multipart body is a file; so is a body of another type.
type disk struct {
	mu      sync.Mutex
	files   map[string][]byte
	removed []string
	signed  []string // signatures
	home    string   // the only directory, "" for any
}

func newDisk(t *testing.T) (*disk, *bench) {
	d := &disk{files: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /files", d.upload)
	mux.HandleFunc("GET /files", d.download)
	mux.HandleFunc("POST /filesystem.Filesystem/Stat", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Path string }
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Path == "." && d.home != "":
			_, _ = w.Write([]byte(`{"entry":{"path":"` + d.home + `"}}`))
		case d.home == "":
			_, _ = w.Write([]byte(`{"entry":{"path":"` + m.Path + `"}}`))
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"permission_denied"}`))
		}
	})
	mux.HandleFunc("POST /filesystem.Filesystem/Remove", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Path string }
		_ = json.NewDecoder(r.Body).Decode(&m)
		d.mu.Lock()
		d.removed = append(d.removed, m.Path)
		d.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b := newBench(t, server.URL)
	b.options.Run.Features = map[string]bundle.Feature{"filesystem": {State: bundle.FeaturePresent}}
	return d, b
}

func (d *disk) upload(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := r.URL.Query().Get("path")
	d.signed = append(d.signed, r.URL.Query().Get("signature"))
	if parts, err := r.MultipartReader(); err == nil {
		for {
			part, err := parts.NextPart()
			if err != nil {
				break
			}
			content, _ := io.ReadAll(part)
			_, name, _ := strings.Cut(part.Header.Get("Content-Disposition"), `filename="`)
			d.files[strings.TrimSuffix(name, `"`)] = content
		}
	} else {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			if body, err = gzip.NewReader(r.Body); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		content, err := io.ReadAll(body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		d.files[path] = content
	}
	w.Header().Set("X-Place", path)
	_, _ = w.Write([]byte(`[{"name":"x","path":"` + path + `","size":7}]`))
}

func (d *disk) download(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	content, ok := d.files[r.URL.Query().Get("path")]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(content)
}

func TestFilesAreSentAndComparedInEveryForm(t *testing.T) {
	t.Parallel()
	_, b := newDisk(t)
	v, o := b.judged(`
steps:
  - send: {as: up, surface: files, method: POST, query: {path: "${dir}/a b+c"}, headers: {Content-Type: application/octet-stream}, body: {gen: {seed: 1, bytes: 40000}}}
  - send: {as: down, surface: files, query: {path: "${up.json.0.path}"}}
  - send: {as: again, surface: files, query: {path: "${up.header.x-place}"}}
  - send: {as: form, surface: files, method: POST, multipart: [{filename: "${dir}/f", of: [one, {hex: 00ff}]}]}
  - send: {as: of-form, surface: files, query: {path: "${dir}/f"}}
  - send: {as: zip, surface: files, method: POST, query: {path: z}, headers: {Content-Encoding: gzip, Content-Type: application/octet-stream}, body: {gzip: {of: packed}}}
  - send: {as: cut, surface: files, method: POST, query: {path: z}, headers: {Content-Encoding: gzip, Content-Type: application/octet-stream}, body: {gzip: {of: other, drop: 9}}}
  - send: {as: of-zip, surface: files, query: "path=%7a"}
expect:
  up: {status: 200, body: {json-list: [{path: "${dir}/a b+c"}], fields: {0.size: '^7$', 0.missing: null}}}
  down: {status: 200, header-matches: {content-type: ^text/plain}, body: {of: {gen: {seed: 1, bytes: 40000}}, length: 40000}}
  again: {status: 200, body: {length: 40000}}
  of-form: {body: {of: {hex: 6f6e6500ff}}}
  cut: {status: 500}
  of-zip: {body: packed}
`, "json", "identity")
	if v.Conclusion != bundle.Pass {
		t.Errorf("the verdict is %s: %s", v.Conclusion, v.Message)
	}
	vars := o.Iterations[0].Vars
	if dir := vars["dir"]; !strings.HasPrefix(dir, "/tmp/assay-") || vars["up.json.0.path"] != dir+"/a b+c" {
		t.Errorf("the variables are %q", vars)
	}
}

func TestWhatAnIterationLeavesIsRemoved(t *testing.T) {
	d, b := newDisk(t)
	_, o := b.judged(`
repeat: {times: 2}
steps:
  - send: {as: up, surface: files, method: POST, query: {path: "${dir}/a"}, body: x}
  - send: {as: home, surface: files, method: POST, query: {path: "${name}"}, body: x}
expect: {up: {status: 200}}
`, "json", "identity")
	want := []string{o.Iterations[0].Vars["dir"], o.Iterations[0].Vars["name"], o.Iterations[1].Vars["dir"], o.Iterations[1].Vars["name"]}
	if got := strings.Join(d.removed, " "); got != strings.Join(want, " ") || want[0] == want[2] || !strings.HasSuffix(want[0], "/"+want[1]) {
		t.Errorf("removed %s, want %s", got, want)
	}
}

func TestTheDirectoryIsBelowTheHomeOfATargetWithoutAnother(t *testing.T) {
	d, b := newDisk(t)
	d.home = "/home/u"
	_, o := b.judged(`
steps:
  - send: {as: up, surface: files, method: POST, query: {path: "${dir}/a"}, body: x}
expect: {up: {status: 200}}
`, "json", "identity")
	if dir := o.Iterations[0].Vars["dir"]; !strings.HasPrefix(dir, "/home/u/assay-") || len(d.removed) != 1 || d.removed[0] != dir {
		t.Errorf("the directory is %q, removed %q", dir, d.removed)
	}
}

func TestAQueryIsSigned(t *testing.T) {
	d, b := newDisk(t)
	tgt, err := target.New(target.Options{URL: b.options.Target.Identity().URL, Token: "a-token-of-files"})
	if err != nil {
		t.Fatal(err)
	}
	b.options.Target = tgt
	b.judged(`
steps:
  - send: {as: a, surface: files, method: POST, query: {path: /x y, username: u}, sign: {operation: write}, body: x}
  - send: {as: b, surface: files, method: POST, query: {path: /x, signature_expiration: "9"}, sign: {operation: write, path: /y, token: other, expires: 60}, body: x}
expect: {a: {status: 200}}
`, "json", "identity")
	if want := signature("/x y:write:u:a-token-of-files"); d.signed[0] != want {
		t.Errorf("signed %s, want %s", d.signed[0], want)
	}
	if strings.HasPrefix(d.signed[1], signature("/y:write::other:")[:8]) || len(d.signed[1]) != len(d.signed[0]) {
		t.Errorf("signed %s", d.signed[1])
	}
}

func signature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

func TestAMissingFieldKeepsTheRestFromBeingJudged(t *testing.T) {
	_, b := newDisk(t)
	v, _ := b.judged(`
steps:
  - send: {as: up, surface: files, method: POST, query: {path: x}, body: x}
  - send: {as: down, surface: files, query: {path: "${up.json.0.id}"}}
expect: {down: {status: 200}}
`, "json", "identity")
	if v.Conclusion != bundle.Inconclusive || !strings.Contains(v.Message, "before json.0.id came") {
		t.Errorf("the verdict is %s: %s", v.Conclusion, v.Message)
	}
}

func TestAMultipartBodyCanBeWrong(t *testing.T) {
	_, b := newDisk(t)
	_, o := b.judged(`
steps:
  - send: {as: up, surface: files, method: POST, multipart: {boundary: other, open: true, parts: [{name: a, type: text/plain, of: x}]}}
expect: {up: {status: 200}}
`, "json", "identity")
	sent := o.Iterations[0].Exchanges[0].Request
	if !bytes.HasSuffix(sent.Body.Data, []byte("name=\"a\"\r\nContent-Type: text/plain\r\n\r\nx\r\n")) {
		t.Errorf("the body is %q", sent.Body.Data)
	}
	if got := sent.Headers; !strings.Contains(string(mustJSON(t, got)), "boundary=other") {
		t.Errorf("the headers are %v", got)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
