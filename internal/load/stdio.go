package load

import (
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
)

// ProtocolWS is stdio over WebSocket: GET /attach with an upgrade (docs/stdio.md). It has no
// start event and no pid: the 101 response stands for the start event, and the process is
// killed over its own socket. Its processes are listed, and leftovers killed, by Connect.
const ProtocolWS = "ws"

// WSKey stands for the Sec-WebSocket-Key in the Start request of ProtocolWS. A driver
// replaces it by a key for each connection.
const WSKey = "AAAAAAAAAAAAAAAAAAAAAA=="

// attach returns the request that begins a stream of ProtocolWS.
func (d *Dialect) attach() Request {
	words := append(slices.Clone(d.Target.Shell()), d.marked())
	query := call.EncodeParameters(call.CommandParameters(words))
	r := Request{Method: "GET", Path: d.Target.AttachPath(query), Headers: d.Target.Headers("load", d.Run)}
	for _, field := range call.UpgradeFields(WSKey) {
		r.set(strings.ToLower(field[0]), field[1])
	}
	if bearer := d.Target.Bearer(); bearer != "" {
		r.set("authorization", bearer)
	}
	return r
}

// Upgrades reports whether the request asks for another protocol on its connection.
func (r *Request) Upgrades() bool {
	return slices.ContainsFunc(r.Headers, func(h bundle.Header) bool { return strings.EqualFold(h.Name, "upgrade") })
}

// upgrades reports whether some streams of the plan run over ProtocolWS.
func (p *Plan) upgrades() bool {
	return slices.ContainsFunc(p.Classes, func(c Class) bool { return c.Dialect.Protocol == ProtocolWS })
}

// attached reports whether a listed process was started by this part over ProtocolWS. Its
// mark is in the command.
func (d *Dialect) attached(p *process.ProcessInfo) bool {
	args := p.GetConfig().GetArgs()
	if len(args) == 0 {
		return false
	}
	return d.carriesMark(args[len(args)-1])
}
