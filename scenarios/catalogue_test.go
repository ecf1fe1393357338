package scenarios

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func load(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Callers share the scenarios and the rules, and not the lists of them.
func TestTheListsOfTheCatalogueBelongToTheCaller(t *testing.T) {
	first := load(t)
	scenario, rule := first.Scenarios[0], first.Rules[0]
	first.Scenarios[0], first.Rules[0] = nil, nil
	if again := load(t); again.Scenarios[0] != scenario || again.Rules[0] != rule {
		t.Error("a change of one caller's lists is seen by another")
	}
}

func TestEveryRuleIsProvenByAScriptOrJudgedOnEverything(t *testing.T) {
	c := load(t)
	for _, r := range c.Rules {
		proven := slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool { return slices.Contains(s.Rules, r.ID) })
		if !proven && len(r.Standing) == 0 && r.Untestable == "" {
			t.Errorf("rule %s is neither proven by a script nor a standing rule", r.ID)
		}
	}
}

// checks are the checks of the judge that standing rules can use.
var checks = []string{
	"check:http-trailers", "check:stream-status", "check:stream-content-type", "check:end-stream-once",
	"check:unary-status-by-code", "check:unary-error-content-type", "check:unary-content-type",
	"check:content-encoding", "check:reserved-headers", "check:method-allow", "check:start-first",
	"check:end-last", "check:ndjson-type-and-end", "check:conn-reusable-after-error", "check:error-debug",
	"check:grpc-http-status", "check:grpc-content-type", "check:grpc-status-place", "check:goaway-before-close",
	"check:goaway-finishes", "check:h2-answer-ended", "check:stdio-exit-once", "check:stdio-exit-last", "check:stdio-close",
	"check:grpc-web-content-type", "check:grpc-web-status-last", "check:grpc-web-trailers-only", "check:grpc-web-http-trailers",
	"check:execute-count-first", "check:execute-end-last",
	"check:metrics-exposition", "check:metrics-monotone", "check:metrics-at-rest",
}

func TestEveryViolationAndCheckBelongsToExactlyOneRule(t *testing.T) {
	want := map[string]int{}
	for _, file := range []string{"wire/violation.go", "wire/violation_ws.go", "envd/event.go", "envd/cell.go"} {
		for _, kind := range kindsOf(t, "../internal/"+file) {
			want[kind] = 1
		}
	}
	for _, check := range checks {
		want[check] = 1
	}
	// Decoders of a server's frames report neither of them: the one is about clients, the other is a limit of ours.
	delete(want, "ws.client-unmasked")
	delete(want, "ws.message-over-limit")
	got := map[string]int{}
	for _, r := range load(t).Rules {
		for _, s := range r.Standing {
			got[s]++
		}
	}
	if !maps.Equal(got, want) {
		for kind := range want {
			if got[kind] != 1 {
				t.Errorf("%s is in %d rules, want 1", kind, got[kind])
			}
		}
		for kind := range got {
			if want[kind] == 0 {
				t.Errorf("%s is in a rule, and nothing reports it", kind)
			}
		}
	}
}

// kindsOf reads the constants of type Kind of a Go file.
func kindsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Kind" {
			for _, v := range spec.Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, text)
			}
		}
		return true
	})
	if len(kinds) == 0 {
		t.Fatalf("no kinds in %s", file)
	}
	return kinds
}

// Four faults of the zoo break these rules. Scripts must prove them, and not only standing
// checks, so that the faults show.
func TestTheRulesThatFaultsBreakAreProvenByScripts(t *testing.T) {
	c := load(t)
	for _, id := range []string{
		"connect.stream.end-stream-once", "process.output.complete", "process.end.exit-code",
		"coppice.finalize.once", "coppice.metrics.partition",
	} {
		if r := c.Rule(id); r == nil || r.Level != "must" {
			t.Errorf("rule %s is %+v, want a must", id, r)
		}
		if !slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool { return slices.Contains(s.Rules, id) }) {
			t.Errorf("no script proves %s", id)
		}
	}
}

func TestStatisticalScriptsSayTheirProbability(t *testing.T) {
	whole := func(m *OutputMatch) int64 {
		all, _ := m.Resolve(nil)
		return int64(len(all))
	}
	for id, want := range map[string]func(*OutputMatch) int64{
		"process.output.tail":        whole,
		"stdio.output.tail":          whole,
		"process.signal.term-output": func(m *OutputMatch) int64 { return *m.Length },
	} {
		s := load(t).Scenario(id)
		if s.Repeat.Times < 62 {
			t.Errorf("%s runs %d times; a tail lost in one of five runs needs 62", id, s.Repeat.Times)
		}
		if n := want(s.Expect[0].Subjects["p"].Stdout); n <= 64<<10 {
			t.Errorf("the output of %s is %d bytes long, want more than 64 KiB", id, n)
		}
		if !strings.Contains(string(s.Text), "0.8^62 = 1e-6") {
			t.Errorf("%s does not state the probability of a miss", id)
		}
	}
}

func TestWhatMayKillATargetIsNotRunUnasked(t *testing.T) {
	for _, s := range load(t).Scenarios {
		text := string(s.Text)
		if m := regexp.MustCompile(`length: (\d+)`).FindAllStringSubmatch(text, -1); m != nil {
			for _, n := range m {
				if v, _ := strconv.Atoi(n[1]); v >= 1<<30 && !s.Destructive {
					t.Errorf("%s sends a length of %d and is not destructive", s.ID, v)
				}
			}
		}
		if regexp.MustCompile(`(?i)keepalive-ping-interval: "?(0|-)`).MatchString(text) && !s.Destructive {
			t.Errorf("%s sends a keepalive interval that kills the real daemon, and is not destructive", s.ID)
		}
	}
}

// Commands must run in any sandbox: they use only builtins of the shell and these programs, and
// in the scenarios of a sandbox's files those that change files.
func TestCommandsUseNothingButTheUtilitiesOfEverySandbox(t *testing.T) {
	allowed := strings.Fields("stty sh echo printf cat sleep seq head tail tr wc yes true false env pwd kill trap test read exit wait" +
		" for while do done in if then fi exec rm no-such-command-assay /")
	onFiles := strings.Fields("cd chmod ln mkdir rmdir mkfifo")
	word := regexp.MustCompile(`(?m)(?:^|[;|&]|\bdo |\$\()\s*([A-Za-z/][\w./-]*)(=?)`)
	quoted := regexp.MustCompile(`'[^']*'|"[^"]*"`)
	for _, s := range load(t).Scenarios {
		s.EachStep(func(step *Step) {
			if step.Start == nil || step.Start.Sh == "" {
				return
			}
			for _, m := range word.FindAllStringSubmatch(quoted.ReplaceAllString(step.Start.Sh, "Q"), -1) {
				aboutFiles := strings.HasPrefix(s.ID, "sandbox.files.") || strings.HasPrefix(s.ID, "file")
				if aboutFiles && slices.Contains(onFiles, m[1]) {
					continue
				}
				if m[2] == "" && !slices.Contains(allowed, m[1]) {
					t.Errorf("%s runs %q", s.ID, m[1])
				}
			}
		})
	}
}

// The catalogue runs every legal pair of protocol and HTTP version, in both codecs, with and
// without compression. An axis that a script does not list keeps its default.
func TestTheCatalogueCoversEveryLegalPermutation(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range load(t).Scenarios {
		for _, a := range s.Permutations() {
			seen[a.String()] = true
			if a.Protocol == "grpc" && a.HTTP == "1.1" {
				t.Errorf("%s runs gRPC on HTTP/1.1: %s", s.ID, a)
			}
			if a.Compression == "gzip" && !slices.Contains(s.Needs, "compress.gzip") {
				t.Errorf("%s runs with gzip and does not need compress.gzip", s.ID)
			}
		}
	}
	for _, pair := range []string{"connect %s 1.1", "connect %s h2c", "grpc %s h2c", "grpc-web %s 1.1", "grpc-web %s h2c"} {
		for _, codec := range []string{"json", "proto"} {
			for _, compression := range []string{"identity", "gzip"} {
				axes := strings.ReplaceAll(fmt.Sprintf(pair, codec)+" "+compression, " ", "/")
				if !seen[axes] {
					t.Errorf("no script runs on %s", axes)
				}
			}
		}
	}
}

func TestEveryNumberOfTheTableHasARule(t *testing.T) {
	have := map[string]bool{}
	for _, r := range load(t).Rules {
		for _, ref := range strings.Split(r.Ref, ", ") {
			from, to, span := strings.Cut(ref, "-")
			have[from] = true
			if !span {
				continue
			}
			a, _ := strconv.Atoi(from[1:])
			b, _ := strconv.Atoi(to[1:])
			for n := a; n <= b; n++ {
				have[from[:1]+strconv.Itoa(n)] = true
			}
		}
	}
	for letter, count := range map[string]int{"C": 136, "G": 33, "W": 29} {
		for n := 1; n <= count; n++ {
			if id := letter + strconv.Itoa(n); !have[id] {
				t.Errorf("%s has no rule", id)
			}
		}
	}
}

// raised are the numbers of the rules that the profiles raise by design.
var raised = []string{"C6", "C20", "C23", "C48", "C57", "C122", "C124", "C125", "C128", "C131", "C132"}

func TestProfilesRaiseTheSameRulesWithAReason(t *testing.T) {
	c := load(t)
	for _, name := range ProfileNames() {
		p, err := LoadProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		// LoadProfile does not check the embedded profiles; this test does.
		if _, err := ParseProfile("profiles/"+name+".yaml", p.Text); err != nil {
			t.Errorf("profile %s: %v", name, err)
		}
		if p.ID != name {
			t.Errorf("profile %s calls itself %s", name, p.ID)
		}
		var got []string
		for id, change := range p.Levels {
			got = append(got, c.Rule(id).Ref)
			if change.Level != "must" || c.Rule(id).Level == "must" || len(change.Reason) < 20 {
				t.Errorf("%s changes %s to %+v", name, id, change)
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(raised))
		if name == "envd" || name == "stdio" || name == "service" {
			want = nil // the daemon is described as it is, stdio has no Connect, and a service has rules of its own
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s raises %v, want %v", name, got, want)
		}
	}
}

func TestRulesKeepTheLevelsOfTheTable(t *testing.T) {
	// Numbers whose level in the table is SHOULD, IMPL or MAY. The numbers of gRPC and gRPC-Web
	// have no level there: documented choices and optional behaviour are listed too.
	should := strings.Fields("C22 C26 C27 C32 C37 C49 C60 C73-C88 C107 G26 G28")
	may := strings.Fields("C2 C6 C11 C15 C19 C20 C21 C23 C29 C35 C42 C48 C54 C55 C56 C57 C65 C92 C93 C94 C95 C97 C98" +
		" C111 C112 C114 C122 C124 C125 C126 C128 C129 C130 C131 C132 C133 C134 C135" +
		" G5 G15 W21 W22 W23 W24 W25 W26 W27")
	for _, r := range load(t).Rules {
		want := "must"
		switch {
		case r.Ref == "" || r.ID == "connect.timeout.plus-sign" || r.ID == "grpc.compression.unsupported-lists", r.ID == "grpc.route.http2-only":
			continue
		case slices.Contains(should, r.Ref):
			want = "should"
		case slices.Contains(may, r.Ref):
			want = "may"
		}
		if r.Level != want {
			t.Errorf("%s (%s) is a %s, want %s", r.ID, r.Ref, r.Level, want)
		}
	}
}

func ExampleCatalogue_Select() {
	c, err := Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	instances, err := c.Select("process.exit.*,axis:connect/json/1.1/*")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range instances {
		fmt.Println(i.Scenario.ID, i.Axes)
	}
	// Output:
	// process.exit.at-once connect/json/1.1/identity
	// process.exit.background-child connect/json/1.1/identity
	// process.exit.codes connect/json/1.1/identity
}
