package files

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"path"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/tree"
)

// maxSources limits the files of one compose.
const maxSources = 10_000

// composition is the body of a request for /files/compose.
type composition struct {
	Sources     []string `json:"source_paths"`
	Destination string   `json:"destination"`
	Username    *string  `json:"username"`
}

// compose joins files in their order to one, which appears at once, and then
// deletes them.
func (s *Server) compose(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkToken(r); err != nil {
		return err
	}
	raw, err := strict.ReadBody(r.Body)
	if err != nil {
		return badBody(err)
	}
	var c composition
	if err := json.Unmarshal(raw, &c); err != nil {
		return problem(connect.CodeInvalidArgument, "the body is not a composition: %v", err)
	}
	user := s.user(query{username: c.Username})
	to, from, err := s.composed(user, c)
	if err != nil {
		return err
	}
	if err := s.join(user, to, from); err != nil {
		return err
	}
	for _, name := range from {
		if err := s.Tree.RemoveAll(name); err != nil {
			return rpcError("remove", name, err)
		}
	}
	strict.WriteJSON(w, http.StatusOK, Written{Name: path.Base(to), Path: to, Type: "file"})
	return nil
}

// checkToken requires the access token in the header: no signature is for this
// route.
func (s *Server) checkToken(r *http.Request) error {
	token := s.Settings.Token()
	if token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Access-Token")), []byte(token)) == 0 {
		return errTokenMissing
	}
	return s.CheckUser(r)
}

// composed returns the absolute paths of a composition.
func (s *Server) composed(user string, c composition) (to string, from []string, err error) {
	switch {
	case len(c.Sources) == 0:
		return "", nil, problem(connect.CodeInvalidArgument, "source_paths is empty")
	case len(c.Sources) > maxSources:
		return "", nil, problem(connect.CodeInvalidArgument, "source_paths has more than %d paths", maxSources)
	case c.Destination == "":
		return "", nil, problem(connect.CodeInvalidArgument, "destination is missing")
	}
	if to, err = s.absolute(user, c.Destination); err != nil {
		return "", nil, err
	}
	to = path.Clean(to)
	target, _, exists := s.follow(to)
	for _, name := range c.Sources {
		if name, err = s.absolute(user, name); err != nil {
			return "", nil, err
		}
		at, err := s.Tree.Resolve(name)
		if err != nil {
			return "", nil, rpcError("open", name, err)
		}
		if path.Clean(name) == to || exists && at == target {
			return "", nil, problem(connect.CodeInvalidArgument, "%s is both source and destination", text(name))
		}
		from = append(from, path.Clean(name))
	}
	return to, from, nil
}

// join writes the contents of files to one.
func (s *Server) join(user, to string, from []string) error {
	out, made, err := s.create(user, to)
	if err != nil {
		return err
	}
	for _, name := range from {
		if err = s.appendFile(out, name); err != nil {
			break
		}
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		out.Abort()
		s.undo(made)
		return rpcError("compose", to, err)
	}
	return nil
}

// appendFile copies a file to the end of an upload.
func (s *Server) appendFile(out tree.Upload, name string) error {
	f, err := s.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(out, f)
	return err
}
