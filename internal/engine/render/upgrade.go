package render

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
	"assay/internal/wire"
	"assay/scenarios"
)

// SocketMark returns the mark of a process that starts over a WebSocket: the run's mark with its place and the name of the
// start, by which the process is found in a list.
func (r Renderer) SocketMark(name string) string { return r.Mark() + "/" + r.Place + "/" + name }

// upgrade returns the handshake of a WebSocket that runs a command. A shell command
// carries the mark as its $0, because the surface has no field for the environment.
func (r Renderer) upgrade(f call.Form, s *scenarios.Start) Request {
	mark := r.SocketMark(s.As)
	var random [16]byte
	sum := sha256.Sum256([]byte(mark))
	copy(random[:], sum[:])
	own := map[string]*string{}
	for _, field := range call.UpgradeFields(wire.WSKey(random)) {
		own[field[0]] = &field[1]
	}
	if bearer := r.Target.Bearer(); bearer != "" {
		own["Authorization"] = &bearer
	}
	for name := range s.Headers {
		maps.DeleteFunc(own, func(o string, _ *string) bool { return strings.EqualFold(o, name) })
	}
	maps.Copy(own, s.Headers)
	req := assemble(transport.Call{
		Surface: surface.Stdio, Shape: bundle.ShapeStdio, Codec: call.JSON, Method: cmp.Or(s.Method, "GET"),
		Path: r.Target.AttachPath(r.command(s, mark)), Headers: r.headers(fields{form: f, overrides: own}),
	}, f, nil)
	if s.HTTP != "" {
		req.head = bytes.Replace(req.head, []byte(" HTTP/1.1\r\n"), []byte(" HTTP/"+s.HTTP+"\r\n"), 1)
	}
	return req
}

// command returns the query of the handshake: the command and its arguments, the terminal,
// then what the script adds, sorted by name.
func (r Renderer) command(s *scenarios.Start, mark string) string {
	all := call.CommandParameters(r.words(s, call.Mark+"="+mark))
	if s.PTY != nil {
		all = append(all, call.Parameter{Name: "pty", Value: "1"},
			call.Parameter{Name: "cols", Value: strconv.FormatUint(uint64(s.PTY.Cols), 10)},
			call.Parameter{Name: "rows", Value: strconv.FormatUint(uint64(s.PTY.Rows), 10)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Query)) {
		all = slices.DeleteFunc(all, func(p call.Parameter) bool { return p.Name == name })
		if value := s.Query[name]; value != nil {
			all = append(all, call.Parameter{Name: name, Value: *value})
		}
	}
	return call.EncodeParameters(all)
}
