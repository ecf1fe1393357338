package selftest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/command/selftest"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/scenarios"
	"assay/suites"
)

// envdBreaks are the rules that the E2B daemon breaks under a profile without deviations for it.
// Each is a deviation of the profile envd.
var envdBreaks = map[bundle.Conclusion][]string{
	bundle.Fail: {
		"connect.compression.accepted-response",
		"connect.compression.content-encoding",
		"connect.compression.identity-acceptable",
		"connect.compression.unary-accepted",
		"connect.error.code",
		"connect.route.allow",
		"connect.timeout.nothing-left",
		"process.stream-input.start-first",
	},
	bundle.Advisory: {
		"connect.compression.preference",
		"connect.stream.request-end-stream-bit",
		"connect.stream.slow-reader",
		"grpc.route.http2-only",
		"grpc.timeout.nothing-left",
		"process.input.refused-code",
		"process.keepalive.zero",
		"process.selector.code",
		"process.tag.selects", // missed once in 50,000: see process.tag.several
	},
}

// envdMay are deviations that a run need not show, with the reason.
var envdMay = map[string]string{
	"connect.timeout.negative":    "1 stream in 4 starts before it ends",
	"connect.timeout.zero":        "1 stream in 4 starts before it ends",
	"http.message.complete":       "a stream must have started before the daemon ends",
	"process.output.complete":     "1 SIGTERM in 5 loses output",
	"process.pty.output-complete": "1 terminal in 20 starts late",
}

// patience is the time scale of a run that must judge every scenario, even on a busy machine.
const patience = 2 * testkit.Slowdown

// likes are the gateways of the tests below, each of which runs the whole catalogue. In one turn one of them does, and
// completely: that exactly its defects are found cannot be told from a part of the catalogue, and that a defect is not a
// cause may be due to any scenario.
var likes = []string{"envd", "bash-only", "http-errors", "lossy"}

// inTurn skips the test of a gateway that is not like the one of the turn.
func inTurn(t *testing.T, id string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the whole catalogue")
	}
	if now := likes[selftest.TurnOf(t)%uint(len(likes))]; id != now {
		t.Skipf("this turn is that of %s", now)
	}
	t.Parallel()
}

// One run against a gateway like the daemon, with a token and with destructive scenarios, judged
// by two profiles.
func TestAGatewayLikeEnvdBreaksExactlyWhatTheDaemonBreaks(t *testing.T) {
	inTurn(t, likes[0])
	const token = "of the test"
	dir := t.TempDir()
	out, err := tested(t, zoo.Options{Like: "envd", Options: gateway.Options{Token: token}}, suites.Options{
		Target: target.Options{Token: token, TimeScale: patience}, Profile: "envd", Destructive: true, Out: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Report.Verdict != bundle.Conformant {
		t.Errorf("under the profile envd it is %s: %v", out.Report.Verdict, broken(out.Verdicts))
	}

	own := broken(out.Verdicts)
	for id := range envdMay {
		own[bundle.Deviation] = slices.DeleteFunc(own[bundle.Deviation], func(seen string) bool { return seen == id })
	}
	all := slices.Sorted(slices.Values(slices.Concat(envdBreaks[bundle.Fail], envdBreaks[bundle.Advisory])))
	if diff := cmp.Diff(map[bundle.Conclusion][]string{bundle.Deviation: all}, own); diff != "" {
		t.Errorf("under the profile envd (-want +got):\n%s", diff)
	}
	strict := broken(judged(t, dir, "e2b"))
	for c, seen := range strict {
		strict[c] = slices.DeleteFunc(seen, func(id string) bool { return envdMay[id] != "" })
	}
	if diff := cmp.Diff(envdBreaks, strict); diff != "" {
		t.Errorf("under the profile e2b (-want +got):\n%s", diff)
	}
}

// The profile allows only deviations that a run shows or may show.
func TestTheProfileEnvdAllowsNothingBeyondWhatIsSeen(t *testing.T) {
	p, err := scenarios.LoadProfile("envd")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, id := range slices.Concat(envdBreaks[bundle.Fail], envdBreaks[bundle.Advisory]) {
		want[id] = true
	}
	for id := range envdMay {
		want[id] = true
	}
	got := map[string]bool{}
	for id := range p.Deviations {
		// The fake daemon has the files of the reference.
		if area, _, _ := strings.Cut(id, "."); area != "files" && area != "filesystem" {
			got[id] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deviations of the profile (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, defects(t, "envd")); diff != "" {
		t.Errorf("rules that the deviations of the fake name (-want +got):\n%s", diff)
	}
}

// The causes of a gateway with several defects are these defects, and not their consequences. Each
// gateway is tested without the surfaces that it does not have.
func TestTheCausesOfAGatewayAreItsDefects(t *testing.T) {
	for _, id := range likes[1:] {
		t.Run(id, func(t *testing.T) {
			inTurn(t, id)
			out, err := tested(t, zoo.Options{Like: id}, suites.Options{Target: target.Options{TimeScale: patience}, Profile: "connect"})
			if err != nil {
				t.Fatal(err)
			}
			causes := map[string]string{}
			for _, c := range out.Report.Causes {
				causes[c.Rule] = c.Message
			}
			for _, d := range like(t, id).Deviations {
				shown := len(d.Rules) == 0
				for _, rule := range d.Rules {
					_, is := causes[rule]
					shown = shown || is
					delete(causes, rule)
				}
				if !shown {
					t.Errorf("%s (%s) is not a cause", d.ID, d.Title)
				}
			}
			for rule, message := range causes {
				t.Errorf("%s is a cause, and not one of its defects: %s", rule, message)
			}
		})
	}
}

// tested runs scenarios against a gateway of the zoo.
func tested(t *testing.T, of zoo.Options, o suites.Options) (*suites.Outcome, error) {
	t.Helper()
	g, err := zoo.Start(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }() // it may have crashed, as expected
	o.Target.URL, o.Seed = g.URL(), 1
	return suites.Run(t.Context(), o)
}

// defects returns the rules that the deviations of a gateway of the zoo break.
func defects(t *testing.T, id string) map[string]bool {
	t.Helper()
	rules := map[string]bool{}
	for _, d := range like(t, id).Deviations {
		for _, rule := range d.Rules {
			rules[rule] = true
		}
	}
	return rules
}

// like returns a gateway of the zoo.
func like(t *testing.T, id string) zoo.Like {
	t.Helper()
	all := zoo.Likes()
	at := slices.IndexFunc(all, func(l zoo.Like) bool { return l.ID == id })
	if at < 0 {
		t.Fatalf("no gateway %s in the zoo", id)
	}
	return all[at]
}

// judged judges a stored run by a profile.
func judged(t *testing.T, dir, profile string) []bundle.Verdict {
	t.Helper()
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.LoadProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := (&judge.Judge{Rules: rules, Profile: p}).Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// leftovers is the rule that the driver could end all its processes. The test ignores it: a pause
// of the machine breaks it too.
const leftovers = "run.leftovers"

// broken returns the rules of each conclusion other than pass, sorted.
func broken(verdicts []bundle.Verdict) map[bundle.Conclusion][]string {
	all := map[bundle.Conclusion][]string{}
	for _, v := range verdicts {
		untold := slices.Contains([]bundle.Conclusion{bundle.Pass, bundle.Unsupported, bundle.NotRun}, v.Conclusion)
		if !untold && v.Rule != leftovers {
			all[v.Conclusion] = append(all[v.Conclusion], v.Rule)
		}
	}
	for c := range all {
		slices.Sort(all[c])
		all[c] = slices.Compact(all[c])
	}
	return all
}
