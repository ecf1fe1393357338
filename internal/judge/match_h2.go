package judge

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// matchH2 requires these HTTP/2 frames from the peer.
func matchH2(l *look) finding {
	c, f := l.h2Conn()
	if c == nil {
		return f
	}
	for _, want := range l.m.H2 {
		if !slices.ContainsFunc(c.H2, func(f bundle.H2Frame) bool { return l.h2Is(&f, want) }) {
			f := l.fails(-1, "HTTP/2: want a frame %s, saw %s", want, h2Seen(c))
			f.vain = !byPeer(c)
			return f
		}
	}
	return finding{}
}

// matchH2Never forbids these HTTP/2 frames from the peer.
func matchH2Never(l *look) finding {
	c, f := l.h2Conn()
	if c == nil {
		return f
	}
	for _, never := range l.m.H2Never {
		for i := range c.H2 {
			if l.h2Is(&c.H2[i], never) {
				return l.fails(-1, "HTTP/2: want no frame %s, saw %s", never, h2Text(&c.H2[i]))
			}
		}
	}
	return finding{}
}

// h2Conn returns the HTTP/2 connection of an exchange, or nil and the breach.
func (l *look) h2Conn() (*bundle.Conn, finding) {
	c := l.conn(l.x.Conn)
	if c == nil || c.HTTP == "1.1" {
		return nil, l.fails(-1, "HTTP/2: the exchange has no HTTP/2 connection (%s)", answer(l.x))
	}
	return c, finding{}
}

// h2Is reports whether a frame came from the peer and fits a name in a script. An exchange on a stream sees only that stream
// and stream 0.
func (l *look) h2Is(f *bundle.H2Frame, name string) bool {
	return f.Dir == "received" && f.Concerns(l.x.Stream) && f.Fits(name)
}

// h2Seen lists the received frames; equal neighbours are listed once.
func h2Seen(c *bundle.Conn) string {
	var words []string
	for i := range c.H2 {
		if c.H2[i].Dir == "received" {
			words = append(words, h2Text(&c.H2[i]))
		}
	}
	return orNone(listOnce(words))
}

// listOnce lists words, equal neighbours once, at most twelve.
func listOnce(words []string) string {
	words = slices.Compact(words)
	const most = 12
	if len(words) > most {
		words = append(words[:most:most], "…")
	}
	return strings.Join(words, ", ")
}

func h2Text(f *bundle.H2Frame) string {
	text := f.Name()
	if f.Stream != 0 {
		text += " on stream " + strconv.FormatUint(uint64(f.Stream), 10)
	}
	if f.Detail != "" && (f.Type == "RST_STREAM" || f.Type == "GOAWAY") {
		text += " (" + phrase.Clip(f.Detail) + ")"
	}
	return text
}
