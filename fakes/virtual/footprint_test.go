//go:build !race

package virtual

import (
	"strings"
	"testing"

	"assay/internal/testkit"
)

// A loop in a shell is the default command of a load run. Half of what it takes is the stack of its goroutine.
func TestTenThousandLoopsAreSmall(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	testkit.CheckLeaks(t)
	const n = 10_000
	s := New(Options{})
	mem := memoryInUse()
	printed := make(chan struct{}, n)
	for range n {
		_, err := s.Start(Spec{Argv: sh("while :; do echo tick; sleep 1000; done"), Output: func(s Stream, _ []byte) {
			if s == Stdout { // a shell whose sleep is killed first says so on stderr
				printed <- struct{}{}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		<-printed
	}
	each := (memoryInUse() - mem) / n
	t.Logf("%d bytes each, of which %d are counted", each, s.memory.used.Load()/n)
	if each < 1<<10 || each > 14<<10 {
		t.Errorf("a loop takes %d bytes, want 1 KiB to 14 KiB", each)
	}
	const most = 64 << 10 // what a gateway allows
	if counted := s.memory.used.Load() / n * most; counted > maxSystem {
		t.Errorf("%d loops count as %d bytes, and the limit of all is %d", most, counted, maxSystem)
	}
	s.KillAll()
}

func TestTenThousandIdleProcessesHoldNoDescriptor(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	testkit.CheckLeaks(t)
	const n = 10_000
	s := New(Options{})
	fds, mem := descriptorCount(t), memoryInUse()
	kinds := [][]string{{"sleep", "100"}, {"cat"}, sh("sleep 100"), sh("read x")}
	procs := make([]*Process, n)
	for i := range procs {
		p, err := s.Start(Spec{Argv: kinds[i%len(kinds)], Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		procs[i] = p
	}
	waitIdle(t, s, procs, func(i int) bool { return i%2 == 1 })
	more, each := descriptorCount(t)-fds, (memoryInUse()-mem)/n
	t.Logf("%d idle processes: %d descriptors more, %d bytes each", n, more, each)
	if more >= 64 {
		t.Errorf("%d idle processes took %d descriptors, want fewer than 64", n, more)
	}
	if each < 1<<10 || each > 24<<10 {
		t.Errorf("an idle process takes %d bytes, want 1 to 24 KiB", each)
	}
	s.KillAll()
	for _, p := range procs {
		arrives(t, "drain", p.Drained())
		if got := p.Status(); got.Signal != sigKILL {
			t.Fatalf("ended with %+v", got)
		}
	}
}

func TestACommandGivesBackAllMemory(t *testing.T) {
	t.Parallel()
	const big = "x=a; while [ ${#x} -lt 5000 ]; do x=$x$x; done; "
	for name, script := range map[string]string{
		"nothing":                  "true; true",
		"one program":              "true",
		"variables":                big + "y=$x; y=; unset x; export z=$x; readonly r=1",
		"assignments of a command": big + "y=1; y=$x z=$x true; y=$x :; y=$x cat </dev/null",
		"locals":                   big + "f() { local x=b$x y; y=$x; unset x; [ ${#y} -gt 9999 ] || f; }; f",
		"parameters":               big + "set -- $x $x; f() { set -- $1 $1; shift; }; f $x; set --; set a",
		"functions":                big + "f() { echo $x; }; f() { :; }; f; unset -f f; g() { :; }",
		"an unset in a subshell":   big + "(unset x; x=b); ( ( (unset x) ) )",
		"here-documents":           big + "cat <<E >/dev/null\n$x$x\nE\n",
		"substitutions":            big + "y=$(echo $x; echo $(echo $x)); : $(exit 3) `true`",
		"a full substitution":      "x=$(cat /dev/zero)",
		"pipelines":                big + "echo $x | cat | (read y; echo $y) | head -c 5 | wc -c",
		"loops":                    big + "for i in $x $x; do break; done; for i in 1 2; do continue; done",
		"evals":                    big + "eval 'y=$x; eval z=$y'; trap 'y=$x' EXIT",
		"an exec":                  big + "exec echo $x",
		"an error":                 big + "y=${nonesuch?$x}",
		"an error in a function":   big + "f() { local x=$x$x; set -- $x; readonly q=1; q=2; }; f",
		"a syntax error":           big + "for; do",
		"a jump":                   big + "f() { for i in $x; do return 1; done; }; f; while :; do for i in $x; do break 2; done; done; exit 7",
		"no memory":                "x=a; while :; do x=$x$x; done",
		"no memory in a subshell":  "(x=a; while :; do x=$x$x; done); (while :; do set -- $* a $*; done)",
		"a kill":                   big + "sleep 100 & kill $!; kill -9 $$",
		"background jobs":          big + "for i in 1 2 3; do (y=$x; sleep 0.01) & done; wait",
		"tail":                     "seq 1 100000 | tail -n 50000 >/dev/null; seq 5 | tail -c 1",
		"lists":                    "touch /tmp/a /tmp/b; ls /tmp; echo /tmp/*",
		"reads":                    big + "echo $x $x | read y z; read q </dev/null",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, shell := range []string{"sh", "bash"} {
				s := system(t)
				run(t, s, Spec{Argv: []string{shell, "-c", script}}, "")
				givenBack(t, s)
				run(t, s, Spec{Argv: []string{shell}}, script+"\n")
				givenBack(t, s)
			}
		})
	}
}

// What a command makes of a short text counts, or is refused.
func TestAShortCommandTakesLittleMemory(t *testing.T) {
	t.Parallel()
	full := doubled("x", "aaaaaaaa", 20) + `for i in 1 2 3 4 5 6 7 8 9 10 11; do eval "y$i=\$x"; done; ` // 96 MB
	pattern := doubled("p", "*a*a*a*a", 13)
	for name, c := range map[string]struct{ script, stderr string }{
		"a pattern":                               {full + pattern + "case a in $p) ;; esac", "Out of space"},
		"a pattern that takes an hour":            {doubled("t", "aaaaaaaa", 17) + pattern + "case $t in $p) ;; esac", "Out of space"},
		"an operator":                             {full + pattern + ": ${PATH%$p}", "Out of space"},
		"an operator that takes an hour":          {doubled("t", "aaaaaaaa", 17) + pattern + ": ${t%$p}", "Out of space"},
		"a pattern of paths":                      {full + pattern + ": /$p", "Out of space"},
		"a regular expression":                    {full + doubled("p", "((a?){30}){30}", 5) + "[[ a =~ $p ]]", "Out of space"},
		"a regular expression that takes an hour": {doubled("t", "aaaaaaaa", 19) + doubled("p", "(a?){30}", 4) + "[[ $t =~ $p ]]", "Out of space"},
		"a pattern of find":                       {full + doubled("p", "********", 13) + `find /tmp -name "${p%?}"`, "memory exhausted"},
		"a long pattern of find":                  {doubled("p", "********", 14) + `find /tmp -name "${p%?}"`, "Out of space"},
		"many short parameters":                   {`x=$(printf '%0200d' 1); set -- $(yes $x | head -n 40000); : "` + strings.Repeat("$*", 80) + `"`, "Out of space"},
		"many changed parameters":                 {`x=$(printf '%0240d' 1); set -- $(yes a | head -n 40000); : "` + strings.Repeat("${@/a/$x}", 30) + `"`, "Out of space"},
		"words of nested cases":                   {doubled("x", "aaaaaaaa", 19) + strings.Repeat("case b$x in *) ", 40) + ":" + strings.Repeat(";; esac", 40), "Out of space"},
		"parameters of nested loops":              {doubled("x", "aaaaaaaa", 19) + "set -- b$x; " + strings.Repeat("for i do set -- b$x; ", 40) + ":" + strings.Repeat("; done", 40), "Out of space"},
		"traps":                                   {doubled("x", "aaaaaaaa", 20) + "for s in 1 2 3 6 7 8 10 11 12 13 14 15 16 17; do trap \"$x$s\" $s; done", "Out of space"},
		"literals of functions":                   {doubled("x", "aaaaaaaa", 20) + "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do eval \"f$i() { : $x; }\"; done", "Out of space"},
		"a set of tr":                             {doubled("x", `\0-\377`, 14) + "tr $x y </dev/null", "set is too long"},
		"the second set of tr":                    {doubled("x", `\0-\377`, 14) + "tr y $x </dev/null", "set is too long"},
		"clauses of chmod":                        {doubled("x", "a+r,", 8) + "chmod ${x}a+r /tmp", "invalid mode"},
		"parentheses of test":                     {doubled("x", "( ", 16) + "[ $x a ]", "nested too deeply"},
		"select":                                  {doubled("x", "select a in b; do ", 13) + `eval "$x"`, "nested too deeply"},
		"time":                                    {doubled("x", "time ", 13) + `eval "$x"`, "nested too deeply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := system(t)
			if got := run(t, s, Spec{Argv: []string{"bash", "-c", c.script}}, ""); !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("%+v, stderr %.200q", got.status, got.stderr)
			}
			givenBack(t, s)
		})
	}
}
