package virtual

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoImportLeadsToTheHost checks the promise of the package comment as far as imports show it.
func TestNoImportLeadsToTheHost(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	forbidden := []string{"os", "os/exec", "os/user", "net", "net/http", "plugin", "unsafe", "mvdan.cc/sh/v3/interp", "golang.org/x/sys/unix"}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if p, _ := strconv.Unquote(imp.Path.Value); slices.Contains(forbidden, p) {
				t.Errorf("%s imports %s", name, p)
			}
		}
	}
}

func TestAWriteThatWaitsForItsTurnDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 100)
	s := system(t)
	p, err := s.Start(Spec{Argv: sh("echo one & echo two; sleep 100"), Output: func(Stream, []byte) {
		entered <- struct{}{}
		<-release
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	s.KillAll()
	arrives(t, "exit", p.Exited())
	close(release)
	arrives(t, "drain", p.Drained())
	if len(entered) != 0 {
		t.Errorf("%d deliveries after the kill", len(entered))
	}
}

func TestDeepNestingEndsInAnError(t *testing.T) {
	t.Parallel()
	s := system(t)
	const deep = 120 << 10
	for name, text := range map[string]string{
		"subshells":     strings.Repeat("(", deep),
		"substitutions": strings.Repeat("$(", deep/2),
		"arithmetic":    "echo $((" + strings.Repeat("(", deep) + "1",
		"closed":        strings.Repeat("(", 60<<10) + ":" + strings.Repeat(")", 60<<10),
		"nots":          "[ " + strings.Repeat("! ", deep/2) + "x ]",
		"parens":        "[ " + strings.Repeat(`\( `, deep/3) + "x ]",
		"sums":          "echo $((" + strings.Repeat("1+", deep/2) + "1)) >/dev/null",
		"parentheses":   "echo $((" + strings.Repeat("(", 50<<10) + "1" + strings.Repeat(")", 50<<10) + ")) >/dev/null",
		"and":           strings.Repeat("true&&", deep/6) + "true",
		"negations":     "echo $((" + strings.Repeat("- ", deep/2) + "1)) >/dev/null",
		"tildes":        "echo $((" + strings.Repeat("~", deep) + "1)) >/dev/null",
		"assigned":      "echo $((" + strings.Repeat("a=", deep/2) + "1)) >/dev/null",
		"ternaries":     "echo $((" + strings.Repeat("1?", deep/4) + "1" + strings.Repeat(":1", deep/4) + ")) >/dev/null",
		"backquotes":    strings.Repeat("`", deep),
		"exclamations":  strings.Repeat("! ", deep/2) + "true",
		"functions":     strings.Repeat("f() ", deep/4) + ":",
		"elifs":         "if false; then :; " + strings.Repeat("elif false; then :; ", deep/20) + "fi",
		"ifs":           strings.Repeat("if ", deep/3),
		"braces":        strings.Repeat("{ ", deep/2),
		"pipes":         strings.Repeat(":|", deep/2) + ":",
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := start(t, s, Spec{Argv: []string{"sh", "-c", text}})
			arrives(t, "drain", p.Drained())
			if st := p.Status(); st.Signal != 0 || st.Code != 0 && st.Code != 2 {
				t.Errorf("status %+v", st)
			}
		})
	}
}

func TestAValueHasALimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, stderr string }{
		"a variable":      {"x=a; while :; do x=$x$x; done", "Out of space"},
		"the parameters":  {"set -- a; while :; do set -- $* $*; done", "Out of space"},
		"a substitution":  {"x=$(cat /dev/zero)", "Out of space"},
		"in a subshell":   {"(x=a; while :; do x=$x$x; done)", "Out of space"},
		"a line":          {"cat /dev/zero | read x", "Out of space"},
		"what tail keeps": {"tail -c 100000000 /dev/zero", "memory exhausted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, system(t), Spec{Argv: sh(c.script)}, ""); !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("%+v, stderr %.200q", got.status, got.stderr)
			}
		})
	}
}

func TestNothingGoesOnWhileTheHeapIsTooLarge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, stderr string
		status         Status
	}{
		"a shell":   {"echo ready; while :; do :; done", "/bin/sh: 1: Out of space\n", Status{Code: 2}},
		"a program": {"echo ready; exec yes >/dev/null", "", Status{Signal: sigKILL}},
		"a reader":  {"echo ready; exec wc /dev/zero", "", Status{Signal: sigKILL}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := system(t)
			var full atomic.Bool
			s.heap = func() uint64 {
				if full.Load() {
					return MaxHeap + 1
				}
				return 0
			}
			p, rec := start(t, s, Spec{Argv: sh(c.script)})
			rec.await(t, "ready\n")
			full.Store(true)
			arrives(t, "the end", p.Drained())
			if _, stderr := rec.texts(); stderr != c.stderr || p.Status() != c.status {
				t.Errorf("%+v, stderr %q", p.Status(), stderr)
			}
			if _, err := s.Start(Spec{Argv: sh("true")}); err == nil {
				t.Error("another command starts")
			}
		})
	}
}

func TestRemovedFilesGiveBackTheirSpace(t *testing.T) {
	t.Parallel()
	s := system(t)
	before := s.fs.used
	got := run(t, s, Spec{Argv: sh(`cd /tmp
		seq 1 1000 >a; mkdir -p d/e/f; cp() { cat $1 >$2; }; cp a d/e/b; cp a c; mv c d/e; mv a d/e/b
		echo x >h; ln h i; rm h i; exec 3>open 4<open; rm open; seq 1 1000 >&3; head -n 1 <&4; rm -r d`)}, "")
	if got.stdout != "1\n" || got.status != (Status{}) {
		t.Errorf("%+v", got)
	}
	if s.fs.used != before {
		t.Errorf("%d bytes are still counted", s.fs.used-before)
	}
}

func TestAProgramInsteadOfAnotherHasALimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, stderr string }{
		"sh":   {"echo 'exec sh /tmp/a' >/tmp/a; sh /tmp/a", "Argument list too long"},
		"env":  {"set -- env; while [ $# -lt 5000 ]; do set -- $* $*; done; $* x", "Argument list too long"},
		"size": {"x=$(head -c 3000000 /dev/zero | tr '\\0' x); cat $x", "Argument list too long"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, system(t), Spec{Argv: sh(c.script)}, "")
			if !strings.Contains(got.stderr, c.stderr) || got.status.Code != 126 {
				t.Errorf("%+v", got.status)
			}
		})
	}
}

func TestOperatorsOfExpansions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{`x=a.b.c; echo ${x#*.} ${x##*.} ${x%.*} ${x%%.*}`, "b.c c a.b a\n"},
		{`x=aaa; p='*'; echo "${x#"$p"}" ${x##$p}.`, "aaa .\n"},
		{`x='a*b*c'; echo "${x#*\*}"`, "b*c\n"},
		{`x=/a/b; cat <<E
${x##*/} ${x%/*}
E`, "b /a\n"},
		{`x=5px; echo $((${x%px}+1))`, "6\n"},
		{`x='a b'; for i in ${x#z}; do echo $i; done`, "a\nb\n"},
		{`set -u; x=a; echo ${x%a}.; echo ${y%a}`, ".\n"},
	} {
		for _, shell := range []string{"sh", "bash"} {
			if got := run(t, system(t), Spec{Argv: []string{shell, "-c", c.script}}, ""); got.stdout != c.want {
				t.Errorf("%s: %s: %q, want %q (%s)", shell, c.script, got.stdout, c.want, got.stderr)
			}
		}
	}
	for _, c := range []struct{ script, want string }{
		{`x=abcabc; echo ${x/b/X} ${x//b/X} ${x//b} ${x//[ab]/-}`, "aXcabc aXcaXc acac --c--c\n"},
		{`x=aXb; y='${x'; echo ${x//X/$y}`, "a${xb\n"},
		{`x=abc; echo ${x^} ${x^^} ${x^^[b]}; x=ABC; echo ${x,} ${x,,}`, "Abc ABC aBc\naBC abc\n"},
		{`set -- a.x b.x; echo "${@%.x}" ${*//x/y}`, "a b a.y b.y\n"},
		{`x=é; echo ${x//é/e}`, "e\n"},
	} {
		if got := run(t, system(t), Spec{Argv: []string{"bash", "-c", c.script}}, ""); got.stdout != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.script, got.stdout, c.want, got.stderr)
		}
	}
}

// doubled is a script that doubles the text of a variable n times.
func doubled(name, text string, n int) string {
	return name + "='" + text + "'; for _ in" + strings.Repeat(" 1", n) + "; do " + name + `="$` + name + `$` + name + `"; done; `
}

// A prompt beyond its limits is printed as it is: its expansion would take the stack of this process.
func TestALongPromptIsNotExpanded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"nested":        {doubled("x", "$(", 20) + "PS1=$x\necho done", "$($($("},
		"a little less": {doubled("x", "$(", 10) + "PS1=$x\necho done", "$($($("},
		"long":          {doubled("x", `\w`, 12) + "PS1=$x\necho done", `\w\w\w`},
		"short":         {`PS1='\w$(echo !)'` + "\necho done", "~!"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, system(t), Spec{Argv: []string{"bash", "-i"}}, c.script+"\n")
			if !strings.Contains(got.stderr, c.want) || got.stdout != "done\n" {
				t.Errorf("%+v, stdout %.100q, stderr %.200q", got.status, got.stdout, got.stderr)
			}
		})
	}
}

// Long output is written in pieces, not built in memory.
func TestLongOutputIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	quotes := strings.Repeat(`'"'"'`, 8)
	for name, c := range map[string]struct {
		script string
		want   int
	}{
		"set":  {doubled("x", quotes, 14) + "readonly x; readonly", len("readonly x=''\n") + 5*8<<14},
		"trap": {doubled("x", quotes, 14) + "trap \"$x\" 1; trap", len("trap -- '' HUP\n") + 5*8<<14},
	} {
		t.Run(name, func(t *testing.T) {
			total, most := 0, 0
			p, err := system(t).Start(Spec{Argv: sh(c.script), Output: func(_ Stream, b []byte) {
				total += len(b)
				most = max(most, len(b))
			}})
			if err != nil {
				t.Fatal(err)
			}
			arrives(t, "the end", p.Drained())
			if total != c.want || most > 8*flushAt {
				t.Errorf("%d bytes in all, want %d; at most %d at once", total, c.want, most)
			}
		})
	}
}

func TestCommandMayBeRepeated(t *testing.T) {
	t.Parallel()
	got := run(t, system(t), Spec{Argv: sh("command command -p command echo a; command -v command")}, "")
	if got.stdout != "a\ncommand\n" {
		t.Errorf("%+v", got)
	}
}

// The error at the end of a script is found in one pass: one that is parsed again for each of its lines takes minutes.
func TestALongScriptWithAnErrorIsReadOnce(t *testing.T) {
	t.Parallel()
	got := run(t, system(t), Spec{Argv: sh("cat >/tmp/f; sh /tmp/f")}, "echo one\n"+strings.Repeat("true &&\n", 25_000))
	if got.stdout != "one\n" {
		t.Errorf("%+v, stdout %.100q, stderr %.200q", got.status, got.stdout, got.stderr)
	}
}

func TestWhatIsNestedTooDeeplyIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, stderr string }{
		"a set of tr":          {doubled("x", `\0-\377`, 14) + "tr $x y </dev/null", "set is too long"},
		"the second set of tr": {doubled("x", `\0-\377`, 14) + "tr y $x </dev/null", "set is too long"},
		"parentheses of test":  {doubled("x", "( ", 16) + "[ $x a ]", "nested too deeply"},
		"select":               {doubled("x", "select a in b; do ", 13) + `eval "$x"`, "nested too deeply"},
		"time":                 {doubled("x", "time ", 13) + `eval "$x"`, "nested too deeply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, system(t), Spec{Argv: []string{"bash", "-c", c.script}}, ""); !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("%+v, stderr %.200q", got.status, got.stderr)
			}
		})
	}
}
