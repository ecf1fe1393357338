package files

import (
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/tree"
)

// download sends a file: a range, an answer to a condition, gzip, or as it is.
func (s *Server) download(w http.ResponseWriter, r *http.Request) error {
	q, user, err := s.begin(r, OperationRead)
	if err != nil {
		return err
	}
	name, err := s.absolute(user, q.path)
	if err != nil {
		return err
	}
	f, err := s.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	packed, ok := acceptsGzip(r.Header["Accept-Encoding"])
	if isPartial(r.Header) {
		packed, ok = false, true
	}
	if !ok {
		return &statusError{http.StatusNotAcceptable, "no acceptable encoding: gzip and identity are supported"}
	}
	h.Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": path.Base(name)}))
	h.Set("Content-Security-Policy", "sandbox") // a page in the sandbox is none of the gateway's
	if !packed {
		http.ServeContent(w, r, path.Base(name), f.Entry().Modified, f)
		return nil
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	if _, err := io.Copy(z, f); err != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to cut a response
	}
	_ = z.Close() // it fails when the client has gone
	return nil
}

// open opens a regular file.
func (s *Server) open(name string) (tree.File, error) {
	at, err := s.Tree.Resolve(name)
	if err != nil {
		return nil, rpcError("open", name, err)
	}
	e, err := s.Tree.Lstat(at)
	switch {
	case err != nil:
		return nil, rpcError("open", name, err)
	case e.Mode.IsDir():
		return nil, problem(connect.CodeInvalidArgument, "path '%s' is a directory", text(name))
	case !e.Mode.IsRegular():
		return nil, problem(connect.CodeInvalidArgument, "path '%s' is not a regular file", text(name))
	}
	f, err := s.Tree.Open(name)
	if err != nil {
		return nil, rpcError("open", name, err)
	}
	return f, nil
}

// isPartial reports whether a request asks for a range or has a condition: both are
// about the file as it is.
func isPartial(h http.Header) bool {
	for _, name := range []string{"Range", "If-Modified-Since", "If-None-Match", "If-Unmodified-Since", "If-Match", "If-Range"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

// acceptsGzip reads Accept-Encoding: gzip is sent if it is named, and not valued
// below identity. ok is false if the client accepts neither.
func acceptsGzip(accept []string) (packed, ok bool) {
	quality := map[string]float64{}
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, q := strict.Quality(item)
		quality[name] = q
	}
	plain, named := quality["identity"]
	if rest, found := quality["*"]; !named && (!found || rest > 0) {
		plain = -1 // acceptable, and no better than what is named
	}
	if z := quality["gzip"]; z > 0 && z >= plain {
		return true, true
	}
	return false, plain != 0
}
