package files

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
)

// Files returns the handler of /files.
func (s *Server) Files() http.Handler {
	return answering(func(w http.ResponseWriter, r *http.Request) error {
		switch r.Method {
		case http.MethodGet:
			return s.download(w, r)
		case http.MethodPost:
			return s.upload(w, r)
		}
		w.Header().Set("Allow", "GET, POST")
		return &statusError{http.StatusMethodNotAllowed, "want GET or POST"}
	})
}

// Compose returns the handler of /files/compose.
func (s *Server) Compose() http.Handler {
	return answering(func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost {
			return s.compose(w, r)
		}
		w.Header().Set("Allow", http.MethodPost)
		return &statusError{http.StatusMethodNotAllowed, "want POST"}
	})
}

// answering writes the error that a handler returns, in the form that the SDK
// compares: {"code":STATUS,"message"}.
func answering(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			status, message := httpError(err)
			strict.LimitRest(w)
			strict.WriteJSON(w, status, struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			}{status, message})
		}
	})
}

// query is the query of a request for /files.
type query struct {
	path      string
	username  *string
	signature string
	expires   *int64
}

// parseQuery reads a query. Every parameter may be given once.
func parseQuery(raw string) (q query, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, problem(connect.CodeInvalidArgument, "the query cannot be read: %v", err)
	}
	one := func(name string) *string {
		all := values[name]
		if len(all) > 1 && err == nil {
			err = problem(connect.CodeInvalidArgument, "parameter %s is given %d times", name, len(all))
		}
		if len(all) == 0 {
			return nil
		}
		return &all[0]
	}
	if p := one("path"); p != nil {
		q.path = *p
	}
	q.username = one("username")
	if p := one("signature"); p != nil {
		q.signature = *p
	}
	if p := one("signature_expiration"); p != nil && err == nil {
		var at int64
		if at, err = strconv.ParseInt(*p, 10, 64); err != nil {
			err = problem(connect.CodeInvalidArgument, "signature_expiration %q is not a number of seconds", *p)
		}
		q.expires = &at
	}
	return q, err
}

// user returns the user of a request: that of the query, or the default.
func (s *Server) user(q query) string {
	if q.username != nil {
		return *q.username
	}
	return s.Settings.User()
}

// admit checks the access token or the signature of a request for /files. A token
// in the header decides alone, a wrong one beside a good signature too.
func (s *Server) admit(r *http.Request, q query, operation string) error {
	if err := s.CheckUser(r); err != nil {
		return err
	}
	token := s.Settings.Token()
	if token == "" {
		return nil
	}
	if sent := r.Header.Get("X-Access-Token"); sent != "" {
		if subtle.ConstantTimeCompare([]byte(sent), []byte(token)) == 0 {
			return errTokenWrong
		}
		return nil
	}
	if !s.has(FeatureSigned) {
		return errTokenMissing
	}
	g := Grant{Path: q.path, Operation: operation, Expiration: q.expires, Signature: q.signature, Token: token}
	if q.username != nil {
		g.Username = *q.username
	}
	return s.Policy.Signature(g, time.Now())
}

// begin reads the query of a request for /files and admits it. user is its user.
func (s *Server) begin(r *http.Request, operation string) (q query, user string, err error) {
	if q, err = parseQuery(r.URL.RawQuery); err != nil {
		return q, "", err
	}
	if err = s.admit(r, q, operation); err != nil {
		return q, "", err
	}
	user = s.user(q)
	if _, ok := s.Tree.Home(user); !ok {
		return q, "", problem(connect.CodeUnauthenticated, "invalid username: '%s'", text(user))
	}
	return q, user, nil
}
