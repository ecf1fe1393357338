package files

import (
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"syscall"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/tree"
)

// Written describes one file that a request has written.
type Written struct {
	Metadata map[string]string `json:"metadata,omitempty"`
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Type     string            `json:"type"`
}

// errType refuses a content type, in the words of the daemon.
var errType = problem(connect.CodeInvalidArgument, "unsupported content type: send multipart/form-data or application/octet-stream")

// upload writes the files of a request: its body, or the parts of its form.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) error {
	q, user, err := s.begin(r, OperationWrite)
	if err != nil {
		return err
	}
	u := upload{Server: s, query: q.path, user: user, seen: map[string]bool{}}
	if u.metadata, err = readMetadata(r.Header); err != nil {
		return err
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := strings.HasPrefix(kind, "multipart/")
	switch {
	case err != nil || !form && kind != "application/octet-stream":
		return errType
	case form && params["boundary"] == "":
		return problem(connect.CodeInvalidArgument, "the content type has no boundary")
	case !form && q.path == "":
		return problem(connect.CodeInvalidArgument, "path is missing")
	}
	body, err := decoded(r)
	if err != nil {
		return err
	}
	defer u.drop()
	if form {
		err = u.readForm(body, params["boundary"])
	} else {
		err = u.write(s.Policy.Target(q.path, ""), body)
	}
	if err == nil {
		err = u.settle()
	}
	if err != nil {
		return err
	}
	strict.WriteJSON(w, http.StatusOK, u.written)
	return nil
}

// decoded returns the body of a request without its gzip.
func decoded(r *http.Request) (io.Reader, error) {
	body := source{r.Body}
	switch strings.ToLower(strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ","))) {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, problem(connect.CodeInvalidArgument, "the body is not gzip: %v", err)
		}
		return source{z}, nil
	default:
		return nil, problem(connect.CodeInvalidArgument, "unsupported content encoding %q: send gzip or none", r.Header.Get("Content-Encoding"))
	}
}

// source is a body whose errors are those of the client.
type source struct{ io.Reader }

func (s source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, badBody(err)
	}
	return n, err
}

// badBody describes a body that cannot be read to its end.
func badBody(err error) error {
	var known *connect.Error
	if errors.As(err, &known) {
		return known
	}
	return problem(connect.CodeInvalidArgument, "the body is not complete: %v", err)
}

// upload writes the files of one request.
type upload struct {
	*Server
	query    string // path of the query
	user     string
	metadata map[string]string
	seen     map[string]bool // paths
	written  []Written
	// next is a complete content that is not committed yet, and made the directories
	// that were created for it.
	next tree.Upload
	made []string
}

// write reads the new content of a file. Only settle replaces the file, all of it
// at once; a failure leaves the old one, or none, and no directory that was not
// there.
func (u *upload) write(name string, content io.Reader) error {
	full, err := u.absolute(u.user, name)
	if err != nil {
		return err
	}
	if full = path.Clean(full); u.seen[full] {
		return problem(connect.CodeInvalidArgument, "two parts are for %s", text(full))
	}
	if err := u.settle(); err != nil {
		return err
	}
	u.seen[full] = true
	if u.next, u.made, err = u.create(u.user, full); err != nil {
		return err
	}
	u.next.SetMetadata(u.metadata)
	if _, err := io.Copy(u.next, content); err != nil {
		return rpcError("write", full, err)
	}
	u.written = append(u.written, Written{Metadata: u.metadata, Name: path.Base(full), Path: full, Type: "file"})
	return nil
}

// settle commits the content that write has read.
func (u *upload) settle() error {
	if u.next == nil {
		return nil
	}
	if err := u.next.Commit(); err != nil {
		return rpcError("write", u.written[len(u.written)-1].Path, err)
	}
	u.next, u.made = nil, nil
	return nil
}

// drop discards what has not been committed.
func (u *upload) drop() {
	if u.next != nil {
		u.next.Abort()
		u.undo(u.made)
	}
}

// create begins a new content of a file and creates its parents.
func (s *Server) create(user, name string) (to tree.Upload, made []string, err error) {
	at, e, exists := s.follow(name)
	if exists && e.Mode.IsDir() {
		return nil, nil, problem(connect.CodeInvalidArgument, "path is a directory: %s", text(at))
	}
	if !exists {
		if made, err = s.makeParents(user, name); err != nil {
			return nil, nil, rpcError("create", name, err)
		}
	}
	if to, err = s.Tree.Create(name, user); err != nil {
		s.undo(made)
		return nil, nil, createError(name, err)
	}
	return to, made, nil
}

// createError describes why a file cannot be created.
func createError(name string, err error) error {
	if isErrno(err, syscall.ENOTDIR) {
		return problem(connect.CodeFailedPrecondition, "a parent of %s is not a directory", text(name))
	}
	return rpcError("create", name, err)
}
