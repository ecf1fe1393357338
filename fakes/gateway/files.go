package gateway

import (
	"net/http"
	"slices"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/stdio"
	"assay/fakes/strict"
	"assay/fakes/tree"
	"assay/internal/envd/filesystem"
)

// Features lists the optional features that Options.Without can switch off.
func Features() []string { return slices.Concat(stdio.Features(), files.Features()) }

// newFiles creates the server of the files of a sandbox; nil if it has none.
func newFiles(t tree.Tree, s *settings, o Options) *files.Server {
	if t = strict.Decorated(o.Seams.Tree, t); t == nil {
		return nil
	}
	return files.New(files.Options{
		Tree: t, Settings: s, Caller: userOf, AfterFunc: clock{o.ClockScale}.AfterFunc, Keepalive: keepaliveOf,
		CheckUser: func(r *http.Request) error { _, err := WithUser(r); return err },
		Without:   o.Without, Policy: o.Seams.Files,
	})
}

// mountFiles mounts the surfaces of files, as far as they are served.
func (g *Gateway) mountFiles(m mounts, o Options, options connect.HandlerOption) {
	if g.files == nil {
		return
	}
	if !slices.Contains(o.Without, files.FeatureFilesystem) {
		path, rpc := g.files.Filesystem(options, connect.WithInterceptors(o.Seams.Filesystem...))
		m.mount(SurfaceFilesystem, path, rpc, over(m.front, filesystem.File_filesystem_filesystem_proto, "Filesystem"))
	}
	if !slices.Contains(o.Without, files.FeatureFiles) {
		m.mount(SurfaceFiles, "/files", g.files.Files(), asIs)
		m.mount(SurfaceFiles, "/files/compose", g.files.Compose(), m.noForms)
	}
}

// mountDaemon mounts the routes about the daemon itself.
func (m mounts) mountDaemon(s *settings) {
	m.mount(SurfaceEnvs, "GET /envs", http.HandlerFunc(s.serveEnvs), m.auth.over)
	m.mount(SurfaceInit, "POST /init", http.HandlerFunc(s.serveInit), m.noForms)
}

// mounts puts the surfaces into a mux.
type mounts struct {
	mux     *http.ServeMux
	front   *strict.Layer
	auth    authorizer
	forms   bool // accept bodies that a form can send
	surface func(s Surface, next http.Handler) http.Handler
}

// mount puts the handler of a surface behind what protects it, and reports whether
// the surface is there.
func (m mounts) mount(s Surface, pattern string, h http.Handler, behind func(http.Handler) http.Handler) bool {
	if m.surface != nil {
		h = m.surface(s, h)
	}
	if h == nil {
		return false
	}
	m.mux.Handle(pattern, behind(h))
	return true
}

// asIs puts nothing in front of a handler.
func asIs(h http.Handler) http.Handler { return h }

// noForms refuses bodies that a page of any origin may send, unless a token
// protects the gateway.
func (m mounts) noForms(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !m.forms && isForm(r.Header.Get("Content-Type")) {
			strict.WriteError(w, connect.NewError(connect.CodeInvalidArgument, errForm))
			return
		}
		next.ServeHTTP(w, r)
	})
}
