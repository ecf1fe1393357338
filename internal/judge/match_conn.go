package judge

import (
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// The states of a connection that a script can require.
const (
	connReusable     = "reusable"
	connClosedByPeer = "closed-by-peer"
)

func matchConn(l *look) finding {
	c := l.conn(l.x.Conn)
	if c == nil {
		return l.fails(-1, "connection: want %s, saw none", l.m.Conn)
	}
	switch l.m.Conn {
	case connReusable:
		if leftOver(l.x) {
			return l.fails(-1, "connection: want no more bytes on it, saw extra bytes after the response")
		}
		if why := closed(l.scene, l.x, c); why != "" {
			return finding{grade: unsupported, message: "connection: the server ends it, which is legal (" + why + ")", at: l.at(l.x, -1)}
		}
	case connClosedByPeer:
		if !byPeer(c) {
			f := l.fails(-1, "connection: want it closed by the peer, saw it still open")
			f.vain = true
			return f
		}
	default:
		return l.toolError("the script has conn: %s; want %s or %s", phrase.QuoteString(l.m.Conn), connReusable, connClosedByPeer)
	}
	return finding{}
}

// byPeer reports whether the peer ended a connection, so that nothing more can come.
func byPeer(c *bundle.Conn) bool { return c.Ended != nil && c.Ended.By == "peer" }

// leftOver reports whether extra bytes followed a response.
func leftOver(x *bundle.Exchange) bool {
	return slices.ContainsFunc(x.Violations, func(v bundle.Violation) bool { return v.Kind == string(wire.HTTPExtra) })
}

// closed says how the connection of a response ended or will end; "" if it can carry another
// request. A later response on it proves that it can.
func closed(s *scene, x *bundle.Exchange, c *bundle.Conn) string {
	for o := range bundle.Each(s.it.Exchanges) {
		if o.Conn == x.Conn && o.ID > x.ID && o.Response != nil && o.Outcome == bundle.OutcomeComplete {
			return ""
		}
	}
	switch {
	case x.Outcome != bundle.OutcomeComplete:
		return outcomeText(x)
	case saysClose(x.Response):
		return "Connection: close"
	case x.Response != nil && x.Response.Framing == wire.FramingClose:
		return "a response that only the end of the connection delimits"
	case byPeer(c):
		return "closed by the peer (" + phrase.Clip(c.Ended.How) + ")"
	}
	return ""
}

func saysClose(r *bundle.Response) bool {
	for _, v := range r.Get("Connection") {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "close") {
				return true
			}
		}
	}
	return false
}
