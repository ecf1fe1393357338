package gateway

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"assay/fakes/strict"
)

// EnvdVersion is the version of the daemon whose behaviour the gateway follows.
const EnvdVersion = "0.6.13"

// settings are what POST /init changes while a gateway runs.
type settings struct {
	mu            sync.Mutex
	token         string
	user, workdir string
	envs          map[string]string
	at            time.Time // of the last request that was applied
}

func newSettings(o Options) *settings {
	s := &settings{token: o.Token, user: o.User, workdir: o.Workdir, envs: maps.Clone(o.Envs)}
	if s.user == "" {
		s.user = defaultUser
	}
	return s
}

// Token returns the access token; "" is none.
func (s *settings) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// User returns the user of a request that names none.
func (s *settings) User() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user
}

// Workdir returns the directory of a command that names none; "" is the home.
func (s *settings) Workdir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workdir
}

// environment returns the variables of a command, with its own before the others.
func (s *settings) environment(own map[string]string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.envs) == 0 {
		return own
	}
	all := maps.Clone(s.envs)
	maps.Copy(all, own)
	return all
}

// sandboxVariable tells a command that it runs in a sandbox. /init cannot change it.
const sandboxVariable = "E2B_SANDBOX"

// serveEnvs writes the variables of every command.
func (s *settings) serveEnvs(w http.ResponseWriter, _ *http.Request) {
	all := map[string]string{}
	maps.Copy(all, s.environment(nil))
	all[sandboxVariable] = "true"
	_ = writeJSON(w, all) // it ignores clients that have gone
}

// initRequest is the body of POST /init. What is absent stays as it is.
type initRequest struct {
	EnvVars        *map[string]string `json:"envVars"`
	AccessToken    *string            `json:"accessToken"`
	DefaultUser    *string            `json:"defaultUser"`
	DefaultWorkdir *string            `json:"defaultWorkdir"`
	Timestamp      *time.Time         `json:"timestamp"`
}

// serveInit changes the settings. It needs no token until one is set, and then that
// one in its body.
func (s *settings) serveInit(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Envd-Version", EnvdVersion)
	w.Header().Set("Cache-Control", "no-store")
	body, err := readInit(r)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := s.apply(body); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// readInit reads the body of POST /init, which may be empty.
func readInit(r *http.Request) (body initRequest, err error) {
	raw, err := strict.ReadBody(r.Body)
	if err != nil || len(raw) == 0 {
		return body, err
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return body, err
	}
	if body.AccessToken != nil && *body.AccessToken == "" {
		return body, errors.New("the access token is empty")
	}
	return body, nil
}

// The errors of POST /init, in the words of the daemon.
var (
	errTokenReset   = errors.New("access token reset not authorized")
	errTokenInvalid = errors.New("access token validation failed")
)

// apply changes the settings, unless the request is older than the last one.
func (s *settings) apply(body initRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.token == "":
	case body.AccessToken == nil:
		return errTokenReset
	case subtle.ConstantTimeCompare([]byte(*body.AccessToken), []byte(s.token)) == 0:
		return errTokenInvalid
	}
	if body.Timestamp != nil {
		if !body.Timestamp.After(s.at) {
			return nil
		}
		s.at = *body.Timestamp
	}
	if body.AccessToken != nil {
		s.token = *body.AccessToken
	}
	if body.EnvVars != nil {
		s.envs = maps.Clone(*body.EnvVars)
		delete(s.envs, sandboxVariable)
	}
	if body.DefaultUser != nil && *body.DefaultUser != "" {
		s.user = *body.DefaultUser
	}
	if body.DefaultWorkdir != nil && *body.DefaultWorkdir != "" {
		s.workdir = *body.DefaultWorkdir
	}
	return nil
}
