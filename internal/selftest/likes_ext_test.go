package selftest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/internal/judge"
	"assay/internal/target"
	"assay/scenarios"
	"assay/suites"
)

// envdBreaks is what the E2B daemon breaks in the eyes of everybody who does not make
// allowances for it, and what an allowance is made for in the profile envd.
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

// envdMay are deviations that a run need not see, with the reason.
var envdMay = map[string]string{
	"connect.timeout.negative":    "1 stream in 4 begins before it ends",
	"connect.timeout.zero":        "1 stream in 4 begins before it ends",
	"http.message.complete":       "a stream that is open when the daemon ends has to have begun",
	"process.output.complete":     "1 SIGTERM in 5 loses output",
	"process.pty.output-complete": "1 terminal in 20 begins late",
}

// One run against a gateway like the daemon, with a token and with what may end it, judged by
// two profiles.
func TestAGatewayLikeEnvdBreaksExactlyWhatTheDaemonBreaks(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole catalogue")
	}
	t.Parallel()
	const token = "of the test"
	g, err := zoo.Start(t.Context(), zoo.Options{Like: "envd", Options: gateway.Options{Token: token}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }() // it may have crashed by then, as it is meant to
	out, err := suites.Run(t.Context(), suites.Options{
		Target: target.Options{URL: g.URL(), Token: token}, Profile: "envd", Destructive: true, Seed: 1,
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
	strict := broken(judged(t, out, "e2b"))
	for c, seen := range strict {
		strict[c] = slices.DeleteFunc(seen, func(id string) bool { return envdMay[id] != "" })
	}
	if diff := cmp.Diff(envdBreaks, strict); diff != "" {
		t.Errorf("under the profile e2b (-want +got):\n%s", diff)
	}
}

// The profile allows what is seen, and what may be seen; nothing that no scenario can show.
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
	got, named := map[string]bool{}, map[string]bool{}
	for id := range p.Deviations {
		got[id] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deviations of the profile (-want +got):\n%s", diff)
	}
	for _, d := range like(t, "envd").Deviations {
		for _, id := range d.Rules {
			named[id] = true
		}
	}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("rules that the deviations of the fake name (-want +got):\n%s", diff)
	}
}

// A gateway with several defects has these as causes, and nothing that merely follows from them. Each is
// tested as its author would, without the surfaces that are not its own.
func TestTheCausesOfAGatewayAreItsDefects(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole catalogue")
	}
	t.Parallel()
	for _, id := range []string{"bash-only", "http-errors", "lossy"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			g, err := zoo.Start(t.Context(), zoo.Options{Like: id})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = g.Close() }()
			out, err := suites.Run(t.Context(), suites.Options{Target: target.Options{URL: g.URL()}, Profile: "connect", Seed: 1})
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
					t.Errorf("%s (%s) is no cause", d.ID, d.Title)
				}
			}
			for rule, message := range causes {
				t.Errorf("%s is a cause, and none of its defects: %s", rule, message)
			}
		})
	}
}

// like is a gateway of the zoo.
func like(t *testing.T, id string) zoo.Like {
	t.Helper()
	for _, l := range zoo.Likes() {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("there is no like %s", id)
	return zoo.Like{}
}

// judged are the verdicts on a run by another profile.
func judged(t *testing.T, out *suites.Outcome, profile string) []bundle.Verdict {
	t.Helper()
	rules, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.LoadProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	j := &judge.Judge{Rules: rules, Profile: p}
	var all []bundle.Verdict
	for _, o := range out.Observations {
		all = append(all, j.Scenario(rules.Scenario(o.Scenario), out.Run, o)...)
	}
	return append(all, j.Run(out.Run, out.Observations)...)
}

// leftovers says that the driver gave up ending a process of its own, not whose fault it was:
// a machine that stands still for the whole bound is enough, and says nothing of the daemon.
const leftovers = "run.leftovers"

// broken are the rules of each conclusion that is no pass, sorted.
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
