package files

import (
	"context"
	"net/http"
	"slices"
	"time"

	"assay/fakes/tree"
	"assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"

	"connectrpc.com/connect"
)

// The optional features. Who mounts the surfaces omits those that are not served;
// watching and signed URLs are parts of a surface.
const (
	FeatureFilesystem = "filesystem"
	FeatureWatch      = "filesystem.watch"
	FeatureFiles      = "files"
	FeatureSigned     = "files.signed"
)

// Features lists the optional features.
func Features() []string {
	return []string{FeatureFilesystem, FeatureWatch, FeatureFiles, FeatureSigned}
}

// Settings are the settings of a sandbox, which can change while it runs.
type Settings interface {
	// Token is the access token; "" admits everybody.
	Token() string
	// User is the user of a request that names none.
	User() string
	// Workdir is what an empty path means; "" is the home of the user.
	Workdir() string
}

// Options configure a Server.
type Options struct {
	Tree     tree.Tree
	Settings Settings
	// Caller returns the user of an RPC, which has been authorized.
	Caller func(ctx context.Context) string
	// CheckUser refuses an unknown user in the Basic authorization of a request for
	// the HTTP routes, which has no other effect there.
	CheckUser func(r *http.Request) error
	// AfterFunc calls f in its own goroutine after d on the gateway's own clock.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	// Keepalive returns after which silence a stream gets a keepalive.
	Keepalive func(h http.Header) time.Duration
	// Without lists the features that are not served.
	Without []string
	Policy  Policy
}

// Policy is what may differ from the reference. The zero value is the reference.
type Policy struct {
	// Target returns the path that a part of an upload is written to. query is the
	// path of the URL, name the file name of the part; either may be "".
	Target func(query, name string) string
	// Signature decides about a signed request instead of [Grant.Check].
	Signature func(g Grant, now time.Time) error
	// Entry changes an entry before it is sent; nil changes nothing.
	Entry func(e *filesystem.EntryInfo)
	// EnterLinks lets a listing descend into links to directories.
	EnterLinks bool
	// MoveIntoVoid lets a move create no parents of its destination.
	MoveIntoVoid bool
	// ParentsFirst lets a move create the parents of its destination before anything
	// else, and leave them there.
	ParentsFirst bool
}

// Server serves the files of one sandbox. Create it with [New].
type Server struct {
	Options
	watchers watchers
}

// New creates a server.
func New(o Options) *Server {
	if o.Policy.Target == nil {
		o.Policy.Target = targetOf
	}
	if o.Policy.Signature == nil {
		o.Policy.Signature = Grant.Check
	}
	if o.Policy.Entry == nil {
		o.Policy.Entry = func(*filesystem.EntryInfo) {}
	}
	return &Server{Options: o, watchers: watchers{all: map[string]*watch{}}}
}

// Close ends all watchers.
func (s *Server) Close() { s.watchers.close() }

// Filesystem returns the handler of the RPC service and its path.
func (s *Server) Filesystem(o ...connect.HandlerOption) (string, http.Handler) {
	return filesystemconnect.NewFilesystemHandler(&service{Server: s}, o...)
}

// has reports whether a feature is served.
func (s *Server) has(feature string) bool { return !slices.Contains(s.Without, feature) }
