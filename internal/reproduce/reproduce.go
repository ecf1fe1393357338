package reproduce

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/judge"
	"assay/internal/target"
	"assay/internal/transport"
	"assay/scenarios"
)

// Options say how reproducers are made and tried. Judge, Run, Target and Clock are
// those of the run.
type Options struct {
	Judge  *judge.Judge
	Run    *bundle.Run
	Target *target.Target
	Clock  *transport.Clock
	// CACert is the file that was named as --cacert, for the texts; Insecure that
	// no certificate is checked.
	CACert   string
	Insecure bool
	// Again runs instances against the target once more, with the seed of the run,
	// and returns their observations in order.
	Again func(context.Context, []scenarios.Instance) []*bundle.Observation
	// Reference runs an instance against a gateway that is known to be correct: a
	// smaller input counts only when that passes with it. nil: nothing is shrunk.
	Reference func(context.Context, scenarios.Instance) (*bundle.Observation, error)
	// Limit is how many failing instances are tried at most, and Budget for how long
	// in all; what is not tried has its texts all the same. 0 tries nothing.
	Limit  int
	Budget time.Duration
}

// All makes the reproducers of the failures and tries as many as the bounds allow:
// the first instance of every rule before the second of any. It returns them in
// the order of scenarios, axes, rules and kinds. It never fails: a text that could
// not be tried says why.
func All(ctx context.Context, o Options, failures []Failure) []bundle.Reproducer {
	ctx, cancel := context.WithTimeout(ctx, max(o.Budget, 0))
	defer cancel()
	m := &maker{o: o, secrets: secretHeaders(o.Target.Headers("", ""), o.Target.Secrets())}
	chosen := choose(failures, o.Limit)
	again := m.again(ctx, chosen)
	var wait sync.WaitGroup
	out := make([][]bundle.Reproducer, len(failures))
	turn := make(chan struct{}, parallel)
	for i, f := range failures {
		observed, try := again[keyOf(f)]
		if !try {
			out[i] = m.untried(f)
			continue
		}
		// One after the other: what runs beside a scenario may change its verdict.
		f, replay := m.replayed(ctx, f, observed)
		out[i] = []bundle.Reproducer{replay}
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			m.try(ctx, f, &out[i])
		})
	}
	wait.Wait()
	all := slices.Concat(out...)
	slices.SortStableFunc(all, func(a, b bundle.Reproducer) int {
		return cmp.Or(strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.Axes.String(), b.Axes.String()),
			strings.Compare(a.Rule, b.Rule), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return all
}

// parallel is how many failures are tried at the same time.
const parallel = 4

// maker makes and tries the reproducers of a run.
type maker struct {
	o       Options
	secrets []secretHeader
}

// key is an instance by value.
type key struct {
	id   string
	axes bundle.Axes
}

func keyOf(f Failure) key { return key{f.Observation.Scenario, f.Observation.Axes} }

// choose picks the instances that are tried: for each rule its first one, then
// the second, and so on.
func choose(failures []Failure, limit int) []Failure {
	rank := map[string]int{}
	type ranked struct {
		Failure
		rank, order int
	}
	var all []ranked
	for i, f := range failures {
		if f.Instance.Scenario.Destructive {
			continue
		}
		all = append(all, ranked{f, rank[f.Verdict.Rule], i})
		rank[f.Verdict.Rule]++
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(-cmp.Compare(a.Verdict.Conclusion.Rank(), b.Verdict.Conclusion.Rank()), a.rank-b.rank, a.order-b.order)
	})
	seen := map[key]bool{}
	var out []Failure
	for _, f := range all {
		if k := keyOf(f.Failure); !seen[k] && len(out) < limit {
			seen[k] = true
			out = append(out, f.Failure)
		}
	}
	return out
}

// again runs the chosen instances once more.
func (m *maker) again(ctx context.Context, chosen []Failure) map[key]*bundle.Observation {
	out := map[key]*bundle.Observation{}
	if len(chosen) == 0 || ctx.Err() != nil {
		return out
	}
	var instances []scenarios.Instance
	for _, f := range chosen {
		instances = append(instances, f.Instance)
	}
	for i, o := range m.o.Again(ctx, instances) {
		out[keyOf(chosen[i])] = o
	}
	return out
}

// untried are the texts of a failure, with the reason why nothing was tried.
func (m *maker) untried(f Failure) []bundle.Reproducer {
	why := fmt.Sprintf("not tried: at most %d failing scenarios are", m.o.Limit)
	switch {
	case m.o.Limit == 0:
		why = "not tried: not asked for"
	case f.Instance.Scenario.Destructive:
		why = "not tried: it may kill the target"
	case m.o.Budget <= 0:
		why = "not tried: there was no time left"
	}
	all := []bundle.Reproducer{m.text(f, bundle.ReproduceReplay, f.Replay, why)}
	s, err := sourceOf(f)
	if err == nil {
		all = append(all, m.written(s, why)...)
	}
	return all
}

func (m *maker) text(f Failure, kind bundle.ReproducerKind, text, why string) bundle.Reproducer {
	return bundle.Reproducer{
		Schema: bundle.ReproducerSchema, Scenario: f.Observation.Scenario, Axes: f.Observation.Axes,
		Rule: f.Verdict.Rule, Kind: kind, Text: text, Output: why,
	}
}

// written are the curl line or the script of a source, where it can have one; an
// embedded gateway is gone when the run has ended, so that nobody could use them.
func (m *maker) written(s *source, why string) []bundle.Reproducer {
	if m.o.Run.Target.Embedded {
		return nil
	}
	d := m.dialing()
	if text, err := s.curl(d, m.secrets); err == nil {
		return []bundle.Reproducer{m.text(s.Failure, bundle.ReproduceCurl, text, why)}
	}
	rule, source := m.ruleText(s.Verdict.Rule)
	text, err := s.script(d, m.secrets, s.about(rule, source, s.Verdict.Level))
	if err != nil {
		return nil
	}
	return []bundle.Reproducer{m.text(s.Failure, bundle.ReproduceShell, text, why)}
}

func (m *maker) ruleText(id string) (text, source string) {
	for _, r := range m.o.Judge.Rules.Rules {
		if r.ID == id {
			return r.Text, strings.TrimSpace(r.Source + " " + r.Section)
		}
	}
	return "", ""
}

func (m *maker) dialing() Dialing {
	host, port, err := net.SplitHostPort(m.o.Target.Addr())
	if err != nil {
		host, port = m.o.Target.Addr(), "80"
	}
	return Dialing{
		URL: m.o.Run.Target.URL, Host: host, Port: port,
		Secure: m.o.Target.Secure(), CACert: m.o.CACert, Insecure: m.o.Insecure,
	}
}

// replayed tells what running the failure again came to, and makes it smaller when
// it failed again.
func (m *maker) replayed(ctx context.Context, f Failure, observed *bundle.Observation) (Failure, bundle.Reproducer) {
	replay := m.text(f, bundle.ReproduceReplay, f.Replay, "")
	v := m.verdictOf(f.Instance.Scenario, f.Verdict.Rule, observed)
	switch {
	case observed.Skip != nil, observed.Interrupted, v == nil && ctx.Err() != nil:
		replay.Output = "not tried: the time for reproducers was spent"
		return f, replay
	case v != nil && v.Conclusion == bundle.Error:
		replay.Output = "not tried: " + v.Message
		return f, replay
	}
	replay.Ran, replay.Output = true, told(v)
	if why := another(f.sighting(), sighting{v, observed}, false); why != "" {
		replay.Output += "\nNot shown: " + why + "."
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

// try makes the texts of a failure and tries them.
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

// told is what a verdict says.
func told(v *bundle.Verdict) string {
	if v == nil {
		return "the rule did not apply to what was seen"
	}
	return strings.TrimSpace(string(v.Conclusion) + "  " + v.Message)
}

// verdictOf judges an observation, and picks the verdict of a rule; nil without one.
func (m *maker) verdictOf(s *scenarios.Scenario, rule string, o *bundle.Observation) *bundle.Verdict {
	for _, v := range m.o.Judge.Scenario(s, m.o.Run, o) {
		if v.Rule == rule {
			return &v
		}
	}
	return nil
}

// errLeaves is the reason not to run a script.
var errLeaves = errors.New("it would leave a process running on the target")

// run tries a text, and has the judge look at what came back.
func (m *maker) run(ctx context.Context, s *source, r *bundle.Reproducer) {
	silent := s.conn.Received.Len == 0
	if silent {
		// That nothing comes shows something of a target that is there alone.
		if err := m.reach(ctx); err != nil {
			r.Output = "not tried: " + err.Error()
			return
		}
	}
	p, err := m.printed(ctx, s, r)
	if err != nil {
		r.Output = "not tried: " + err.Error()
		return
	}
	r.Ran = true
	if len(p.bytes()) == 0 && !silent {
		r.Output = "nothing came back"
		return
	}
	o, err := s.playback(ctx, m.o.Clock, p)
	if err != nil {
		r.Ran, r.Output = false, "not judged: "+err.Error()
		return
	}
	v := m.verdictOf(s.Instance.Scenario, s.Verdict.Rule, o)
	said := told(v)
	if why := another(s.sighting(), sighting{v, o}, true); why != "" {
		said += "\nNot shown: " + why + "."
	} else {
		r.Shown = pointed(s.Verdict, v)
	}
	r.Output = said + "\n" + printable(m.redacted(p.bytes()))
}

// reach opens a connection to the target and closes it.
func (m *maker) reach(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: reachTime}).DialContext(ctx, "tcp", m.o.Target.Addr())
	if err != nil {
		return fmt.Errorf("the target is not there any more: %w", err)
	}
	return conn.Close()
}

// reachTime bounds opening a connection.
const reachTime = 3 * time.Second

// pointed reports whether a verdict is about the connection: on that alone, what
// the script expects of others cannot be judged.
func pointed(was bundle.Verdict, v *bundle.Verdict) bool {
	return was.Conclusion == bundle.UnexpectedPass || v.Evidence != nil && (v.Evidence.Exchange >= 0 || v.Evidence.Conn >= 0)
}

// printed runs the text and returns what it printed, as the target sent it.
func (m *maker) printed(ctx context.Context, s *source, r *bundle.Reproducer) (*printed, error) {
	if !s.endsByItself() {
		return nil, errLeaves
	}
	programs := []string{"sh", "curl"}
	if r.Kind == bundle.ReproduceShell {
		programs[1] = m.dialing().tool()
	}
	if err := missing(programs...); err != nil {
		return nil, err
	}
	done := s.answered()
	if r.Kind == bundle.ReproduceCurl {
		done = func([]byte) bool { return false } // it ends by itself
	}
	p := runShell(ctx, r.Text, m.secrets, done)
	if p.err != nil {
		return nil, p.err
	}
	if r.Kind == bundle.ReproduceCurl && s.http2() {
		frames, err := framed(p.bytes())
		if err != nil {
			return nil, err
		}
		p.arrivals = []arrival{{data: frames}}
		p.complete = true
	}
	return p, nil
}

// redacted is p without the secrets that a target may have said again.
func (m *maker) redacted(p []byte) []byte {
	for _, s := range m.o.Target.Secrets() {
		if s != "" {
			p = bytes.ReplaceAll(p, []byte(s), []byte("***"))
		}
	}
	return p
}

// printable is what came, for people: at most a few lines of it.
func printable(p []byte) string {
	const most = 4 << 10
	more := ""
	if len(p) > most {
		more = fmt.Sprintf("\n… %d bytes more", len(p)-most)
		p = p[:most]
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
