package judge

import (
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/wire"
)

// The states of a connection that a script can ask for.
const (
	connReusable     = "reusable"
	connClosedByPeer = "closed-by-peer"
)

func matchConn(l *look) finding {
	if l.m.Conn == "" {
		return finding{}
	}
	c := l.conn(l.x.Conn)
	if c == nil {
		return l.fails(-1, "connection: want %s, saw none", l.m.Conn)
	}
	switch l.m.Conn {
	case connReusable:
		if why := notReusable(l.scene, l.x, c); why != "" {
			return l.fails(-1, "connection: want it reusable, saw %s", why)
		}
	case connClosedByPeer:
		if c.Ended == nil || c.Ended.By != "peer" {
			return l.fails(-1, "connection: want it closed by the peer, saw it still open")
		}
	default:
		return l.ours("the script asks for a connection that is %s", quoteString(l.m.Conn))
	}
	return finding{}
}

// notReusable says why the connection of an answer could not carry another
// request, "" when it could. A later answer on it settles the question.
func notReusable(s *scene, x *bundle.Exchange, c *bundle.Conn) string {
	for i := range s.it.Exchanges {
		o := &s.it.Exchanges[i]
		if o.Conn == x.Conn && o.ID > x.ID && o.Response != nil && o.Outcome == bundle.OutcomeComplete {
			return ""
		}
	}
	extra := func(v bundle.Violation) bool { return v.Kind == string(wire.HTTPExtra) }
	switch {
	case x.Outcome != bundle.OutcomeComplete:
		return outcomeText(x)
	case slices.ContainsFunc(x.Violations, extra):
		return "bytes left over after the answer"
	case saysClose(x.Response):
		return "Connection: close"
	case x.Response != nil && x.Response.Framing == "close":
		return "an answer that only the end of the connection delimits"
	case c.Ended != nil && c.Ended.By == "peer":
		return "it closed by the peer (" + clip(c.Ended.How) + ")"
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
