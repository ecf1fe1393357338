package reproduce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// replayed returns the result of the replay, and shrinks a failure that showed again but
// not on the reference gateway.
func (m *maker) replayed(ctx context.Context, f Failure) (Failure, bundle.Reproducer) {
	replay := m.text(f, bundle.ReproduceReplay, m.replay(f), "")
	observed := m.seen[keyOf(f)]
	v := verdictOf(m.o.Judge, m.o.Run, f, observed)
	switch {
	case observed.Skip != nil, observed.Interrupted, v == nil && ctx.Err() != nil:
		replay.Output = "not tried: " + noTime
		return f, replay
	case v != nil && v.Conclusion == bundle.Error:
		replay.Output = "not tried: " + v.Message
		return f, replay
	}
	replay.Ran, replay.Output = true, told(v)
	if why := another(f.sighting(), sighting{v, observed}, false); why != "" {
		replay.Output += "\nNot reproduced: " + why + "."
		return f, replay
	}
	if why := m.likewise(ctx, f); why != "" {
		replay.Output = why + "\n" + replay.Output
		return f, replay
	}
	replay.Shown = true
	f.Observation, f.Verdict = observed, *v
	small, overrides := m.shrink(ctx, f)
	for _, o := range overrides {
		replay.Text += " --set " + quoteWord(o.String())
	}
	replay.Output = told(&small.Verdict)
	return small, replay
}

// try writes the texts of a failure and tries them.
func (m *maker) try(ctx context.Context, f Failure, all *[]bundle.Reproducer) {
	s, err := sourceOf(f)
	if err != nil {
		first := &(*all)[0]
		first.Output = strings.TrimSpace(first.Output + "\nNo script: " + err.Error() + ".")
		return
	}
	for _, r := range m.written(s, "") {
		m.run(ctx, s, &r)
		*all = append(*all, r)
	}
}

// told returns the message of a verdict.
func told(v *bundle.Verdict) string {
	if v == nil {
		return "the rule did not apply"
	}
	return strings.TrimSpace(string(v.Conclusion) + "  " + v.Message)
}

// party is a gateway to try texts against.
type party struct {
	run    *bundle.Run
	target *target.Target
	dial   Dialing
}

// tested returns the gateway under test.
func (m *maker) tested() party { return party{m.o.Run, m.o.Target, m.dialing()} }

// run tries a text against the target and, if it shows the failure, against the reference
// gateway.
func (m *maker) run(ctx context.Context, s *source, r *bundle.Reproducer) {
	p, now, err := m.attempt(ctx, s, m.tested())
	switch {
	case ctx.Err() != nil:
		r.Output = "not tried: " + noTime
		return
	case err != nil:
		r.Output = err.Error()
		return
	}
	r.Ran = true
	r.Output = told(now.verdict)
	switch why := another(s.sighting(), now, true); {
	case now.observation == nil:
		r.Output = "no response"
		return
	case why != "":
		r.Output += "\nNot reproduced: " + why + "."
	case !pointed(s.Verdict, now.verdict):
		r.Output += "\nNot reproduced: the verdict is not about this response."
	default:
		why = m.bothShowText(ctx, s, now)
		if r.Shown = why == ""; why != "" {
			r.Output = why + "\n" + r.Output
		}
	}
	// The record of the playback has no secrets, not even those that a chunk splits or that are compressed.
	r.Output += "\n" + printable(&now.observation.Iterations[0].Conns[0].Received, len(p.bytes()))
}

// attempt runs the text of a source for one gateway and judges the response. There is no
// observation if the response is empty and was not empty before. An error says why there
// is nothing to judge.
func (m *maker) attempt(ctx context.Context, s *source, at party) (*printed, sighting, error) {
	silent := s.conn.Received.Len == 0
	if silent {
		// An empty response counts only if the target is reachable.
		if err := reach(ctx, at.target.Addr()); err != nil {
			return nil, sighting{}, fmt.Errorf("not tried: %w", err)
		}
	}
	p, err := m.printed(ctx, s, at.dial)
	if err != nil {
		return nil, sighting{}, fmt.Errorf("not tried: %w", err)
	}
	if len(p.bytes()) == 0 && !silent {
		return p, sighting{}, nil
	}
	o, err := s.playback(ctx, m.o.Clock, m.o.Target.Redactor(), p)
	if err != nil {
		return nil, sighting{}, fmt.Errorf("not judged: %w", err)
	}
	return p, sighting{verdictOf(m.o.Judge, at.run, s.part(), o), o}, nil
}

// reach opens a connection and closes it.
func reach(ctx context.Context, addr string) error {
	conn, err := (&net.Dialer{Timeout: reachTime}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("the target is no longer reachable: %w", err)
	}
	return conn.Close()
}

// reachTime limits opening a connection.
const reachTime = 3 * time.Second

// pointed reports whether a verdict is about the connection; expectations about other
// connections cannot be judged on it.
func pointed(was bundle.Verdict, v *bundle.Verdict) bool {
	return was.Conclusion == bundle.UnexpectedPass || v.Evidence != nil && (v.Evidence.Exchange >= 0 || v.Evidence.Conn >= 0)
}

// errLeaves is the reason not to run a script.
var errLeaves = errors.New("it would leave a process running on the target")

// printed runs the text for one gateway and returns its output, the bytes that the gateway
// sent.
func (m *maker) printed(ctx context.Context, s *source, d Dialing) (*printed, error) {
	if !s.endsByItself() {
		return nil, errLeaves
	}
	kind, text, err := m.writtenFor(s, d)
	if err != nil {
		return nil, err
	}
	programs, done := []string{"sh", d.tool()}, s.answered()
	if kind == bundle.ReproduceCurl {
		programs[1] = "curl"
		done = func([]byte) bool { return false } // the tool ends by itself
	}
	if err := missing(programs...); err != nil {
		return nil, err
	}
	p := runShell(ctx, text, m.secrets, done)
	if p.err != nil {
		return nil, p.err
	}
	if kind == bundle.ReproduceCurl && s.http2() {
		frames, err := framed(p.bytes())
		if err != nil {
			return nil, err
		}
		p.arrivals = []arrival{{data: frames}}
		p.complete = true
	}
	return p, nil
}

// printable returns the beginning of a recorded response of so many bytes as text.
func printable(received *bundle.Blob, whole int) string {
	p := received.Data
	if !received.Whole() {
		p = received.Head
	}
	p = p[:min(len(p), bundle.BlobEdge)]
	more := ""
	if n := whole - len(p); n > 0 {
		more = fmt.Sprintf("\n… %d bytes more", n)
	}
	var b strings.Builder
	for _, c := range p {
		switch {
		case c == '\n' || c >= 0x20 && c <= 0x7e:
			b.WriteByte(c)
		case c == '\r':
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String() + more
}
