package zoo

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"assay/fakes/files"
	"assay/fakes/gateway"
)

// downloadFaults returns the faults in downloads, and in the errors of /files.
func downloadFaults() []fault {
	return []fault{
		{Fault{
			ID:     "range-end-excluded",
			Title:  "The last byte of a range is missing",
			Breaks: []string{"files.range.bytes"},
			Source: "gateways that take the end of a range for its length, or for exclusive",
		}, onFilesRequest(func(r *http.Request) {
			unit, last, ok := strings.Cut(r.Header.Get("Range"), "-")
			if n, err := strconv.Atoi(last); ok && err == nil && n > 0 && !strings.HasSuffix(unit, "=") {
				r.Header.Set("Range", unit+"-"+strconv.Itoa(n-1))
			}
		})},
		{Fault{
			ID:     "download-missing-empty",
			Title:  "A missing file is an empty file",
			Breaks: []string{"files.read.missing"},
			Source: "E2B#1254: a stream that was used up is an empty file",
		}, onFilesError(func(r *http.Request, status int, body []byte) (int, []byte) {
			if r.Method == http.MethodGet && status == http.StatusNotFound {
				return http.StatusOK, nil
			}
			return status, body
		})},
		{Fault{
			ID:     "files-error-code-text",
			Title:  "The code of an error of /files is a text",
			Breaks: []string{"files.read.error"},
			Source: "Dormice",
		}, onFilesError(func(_ *http.Request, status int, body []byte) (int, []byte) {
			head, rest, ok := bytes.Cut(body, []byte(`{"code":`))
			number, rest, found := bytes.Cut(rest, []byte(","))
			if !ok || !found || len(head) > 0 {
				return status, body
			}
			return status, []byte(`{"code":"` + string(number) + `",` + string(rest))
		})},
		{Fault{
			ID:     "gzip-unasked",
			Title:  "Downloads are compressed for a client that refuses gzip",
			Breaks: []string{"files.gzip.not-accepted"},
			Source: "proxies that compress everything",
		}, onFilesRequest(func(r *http.Request) {
			if r.Method == http.MethodGet {
				r.Header.Set("Accept-Encoding", "gzip")
			}
		})},
		{Fault{
			ID:     "gzip-unnamed",
			Title:  "A compressed download does not say so",
			Breaks: []string{"files.gzip.download"},
			Source: "infra#3363: encodings lost between proxies",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if r.Method == http.MethodGet && isFiles(r) {
				h.Del("Content-Encoding")
			}
			return status
		})},
	}
}

// signatureFaults returns the faults in signed URLs.
func signatureFaults() []fault {
	return []fault{
		{Fault{
			ID:     "signature-unchecked",
			Title:  "Any signature opens any file",
			Breaks: []string{"files.sign.other"},
			Source: "OpenE2B",
		}, onSignature(func(g files.Grant, now time.Time) error {
			if g.Signature != "" {
				g.Signature = g.Sign()
			}
			return g.Check(now)
		})},
		{Fault{
			ID:     "signature-for-ever",
			Title:  "A signature does not expire",
			Breaks: []string{"files.sign.expired"},
			Source: "E2B#1429: an expiration of 0 means for ever",
		}, onSignature(func(g files.Grant, now time.Time) error {
			if g.Expiration != nil {
				now = time.Unix(min(*g.Expiration, now.Unix()), 0)
			}
			return g.Check(now)
		})},
		{Fault{
			ID:     "signature-expiration-unsigned",
			Title:  "The expiration of a signature can be changed",
			Breaks: []string{"files.sign.prolonged"},
			Source: "gateways that sign only path, operation and user",
		}, onSignature(func(g files.Grant, now time.Time) error {
			until := g.Expiration
			g.Expiration = nil
			if g.Signature != "" && g.Signature != g.Sign() {
				g.Expiration = until
			}
			return g.Check(now)
		})},
		{Fault{
			ID:     "signature-any-operation",
			Title:  "A signature for reading also allows writing",
			Breaks: []string{"files.sign.other"},
			Source: "gateways that sign only the path",
		}, onSignature(func(g files.Grant, now time.Time) error {
			for _, operation := range []string{files.OperationRead, files.OperationWrite} {
				if g.Operation = operation; g.Signature == g.Sign() {
					break
				}
			}
			return g.Check(now)
		})},
		{Fault{
			ID:     "signature-opens-everything",
			Title:  "Any signature replaces the token on every route",
			Breaks: []string{"files.sign.elsewhere"},
			Source: "OpenE2B",
		}, func(b *build) {
			token := b.Token
			onRequest(func(r *http.Request) {
				if !isFiles(r) && r.URL.Query().Get("signature") != "" {
					r.Header.Set("X-Access-Token", token)
				}
			})(b)
		}},
		{Fault{
			ID:     "signature-name-beats-path",
			Title:  "The file name of a part replaces the path of the query, also a signed one",
			Breaks: []string{"files.sign.name", "files.multipart.path"},
			Source: "Dormice",
		}, onFilesPolicy(func(p *files.Policy) { p.Target = func(query, name string) string { return cmp.Or(name, query) } })},
	}
}

// uploadRequestFaults returns the faults in reading uploads.
func uploadRequestFaults() []fault {
	return []fault{
		{Fault{
			ID:     "upload-base-name",
			Title:  "An upload keeps only the last component of its path",
			Breaks: []string{"files.write.round-trip", "files.write.parents", "files.multipart.whole-name"},
			Source: "kubernetes-sigs/agent-sandbox#622",
		}, func(b *build) {
			onFilesPolicy(func(p *files.Policy) {
				p.Target = func(query, name string) string { return path.Base(cmp.Or(query, name)) }
			})(b)
		}},
		{Fault{
			ID:     "upload-gzip-stored",
			Title:  "The body of an upload is stored as it comes, compressed",
			Breaks: []string{"files.gzip.upload", "files.gzip.not-compressed", "files.gzip.cut", "files.gzip.unknown-encoding"},
			Source: "gateways that ignore Content-Encoding in requests",
		}, onFilesRequest(func(r *http.Request) { r.Header.Del("Content-Encoding") })},
		{Fault{
			ID:     "upload-without-form-refused",
			Title:  "An upload that is not a form is refused",
			Breaks: []string{"files.write.round-trip"},
			Source: "gateways that read only forms",
		}, onFilesRequest(func(r *http.Request) {
			if r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
				r.Header.Set("Content-Type", "text/plain")
			}
		})},
		{Fault{
			ID:     "upload-refusal-waits",
			Title:  "An upload is refused only after its body",
			Breaks: []string{"files.write.expect-refused"},
			Source: "the E2B daemon, as observed",
		}, onFiles(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
			if err == nil {
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// isFiles reports whether a request is for /files.
func isFiles(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/files") }

// onFiles decorates /files and /files/compose.
func onFiles(serve middleware) func(*build) { return onSurface(gateway.SurfaceFiles, serve.over) }

// onFilesRequest changes the requests for /files and /files/compose.
func onFilesRequest(change func(r *http.Request)) func(*build) {
	return onFiles(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r = r.Clone(r.Context())
		change(r)
		next.ServeHTTP(w, r)
	})
}

// onSignature decides about signed requests.
func onSignature(check func(g files.Grant, now time.Time) error) func(*build) {
	return onFilesPolicy(func(p *files.Policy) { p.Signature = check })
}

// onFilesError changes the error responses of /files and /files/compose.
func onFilesError(change func(r *http.Request, status int, body []byte) (int, []byte)) func(*build) {
	return onFiles(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		e := &errorWriter{writer: writer{w}}
		next.ServeHTTP(e, r)
		if e.status != 0 {
			status, body := change(r, e.status, e.body.Bytes())
			w.WriteHeader(status)
			_, _ = w.Write(body) // a client that has gone gets nothing
		}
	})
}

// errorWriter keeps an error response.
type errorWriter struct {
	writer
	status int // 0: no error
	body   bytes.Buffer
}

func (w *errorWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *errorWriter) Write(p []byte) (int, error) {
	if w.status != 0 {
		return w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// fileVariants returns the variants of /files.
func fileVariants() []variant {
	return []variant{
		{Variant{
			ID:     "downloads-never-compressed",
			Area:   "files",
			Title:  "Downloads are never compressed",
			Source: "RFC 9110 section 12.5.3: a server may ignore Accept-Encoding",
		}, onFilesRequest(func(r *http.Request) {
			if r.Method == http.MethodGet && !strings.Contains(strings.ReplaceAll(r.Header.Get("Accept-Encoding"), " ", ""), "q=0") {
				r.Header.Del("Accept-Encoding")
			}
		})},
		{Variant{
			ID:     "downloads-always-whole",
			Area:   "files",
			Title:  "The range of a download is ignored",
			Source: "RFC 9110 section 14.2: a server may ignore Range",
		}, onFilesRequest(func(r *http.Request) {
			for _, name := range []string{"Range", "If-Range"} {
				r.Header.Del(name)
			}
		})},
		{Variant{
			ID:     "upload-answer-as-text",
			Area:   "files",
			Title:  "The response to an upload is JSON in text/plain",
			Source: "the E2B daemon, as observed",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if r.Method == http.MethodPost && isFiles(r) && status == http.StatusOK {
				h.Set("Content-Type", "text/plain; charset=utf-8")
			}
			return status
		})},
		{Variant{
			ID:     "downloads-with-etag",
			Area:   "files",
			Title:  "Downloads have a strong ETag",
			Source: "RFC 9110 section 8.8.3",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if modified := h.Get("Last-Modified"); r.Method == http.MethodGet && isFiles(r) && modified != "" {
				h.Set("ETag", `"`+modified+`"`)
			}
			return status
		})},
	}
}
