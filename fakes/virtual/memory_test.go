package virtual

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/testkit"
)

// givenBack waits until the goroutines of all commands have ended, and all that was counted is given back.
func givenBack(t *testing.T, s *System) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if n := s.memory.used.Load(); n != 0 {
			return fmt.Errorf("%d bytes are still counted", n)
		}
		return nil
	})
}

func TestRemovedFilesGiveBackTheirSpace(t *testing.T) {
	t.Parallel()
	s := system(t)
	before := int(s.fs.space.used.Load())
	got := run(t, s, Spec{Argv: sh(`cd /tmp
		seq 1 1000 >a; mkdir -p d/e/f; cp() { cat $1 >$2; }; cp a d/e/b; cp a c; mv c d/e; mv a d/e/b
		echo x >h; ln h i; rm h i; exec 3>open 4<open; rm open; seq 1 1000 >&3; head -n 1 <&4; rm -r d`)}, "")
	if got.stdout != "1\n" || got.status != (Status{}) {
		t.Errorf("%+v", got)
	}
	if int(s.fs.space.used.Load()) != before {
		t.Errorf("%d bytes are still counted", int(s.fs.space.used.Load())-before)
	}
}

func TestAllCommandsTogetherAreBounded(t *testing.T) {
	t.Parallel()
	s := system(t)
	const hold = "x=a; while [ ${#x} -lt 20000000 ]; do x=$x$x; done; echo ready; read y"
	var held []*Process
	for range maxSystem/maxMemory*4 + 1 {
		p, rec := start(t, s, Spec{Argv: sh(hold), Stdin: true})
		held = append(held, p)
		refused := false
		testkit.Eventually(t, func() error {
			out, errs := rec.texts()
			if refused = strings.Contains(errs, "Out of space"); !refused && out == "" {
				return errors.New("it neither holds its memory nor is refused")
			}
			return nil
		})
		if refused {
			if used := s.memory.used.Load(); used > maxSystem {
				t.Errorf("%d bytes are counted, at most %d are allowed", used, maxSystem)
			}
			for _, p := range held {
				p.CloseStdin()
			}
			givenBack(t, s)
			return
		}
	}
	t.Error("no command was refused memory")
}

func TestAProgramInsteadOfAnotherHasALimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, stderr string }{
		"sh":   {"echo 'exec sh /tmp/a' >/tmp/a; sh /tmp/a", "Argument list too long"},
		"env":  {"set -- env; while [ $# -lt 5000 ]; do set -- $* $*; done; $* x", "Argument list too long"},
		"size": {"x=$(head -c 3000000 /dev/zero | tr '\\0' x); cat $x", "Argument list too long"},
	} {
		t.Run(name, func(t *testing.T) {
			s := system(t)
			got := run(t, s, Spec{Argv: sh(c.script)}, "")
			if !strings.Contains(got.stderr, c.stderr) || got.status.Code != 126 {
				t.Errorf("%+v", got.status)
			}
			givenBack(t, s)
		})
	}
}

func TestOperatorsOfExpansions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{`x=a.b.c; echo ${x#*.} ${x##*.} ${x%.*} ${x%%.*}`, "b.c c a.b a\n"},
		{`x=aaa; p='*'; echo "${x#"$p"}" ${x##$p}.`, "aaa .\n"},
		{`x='a*b*c'; echo "${x#*\*}" "${x%'*'*}"`, "b*c a*b\n"},
		{`x='1
2
3'; echo "${x%
*}"; echo "${x%%
*}"`, "1\n2\n1\n"},
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

func TestACommandThatRunsForTooLongEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv   []string
		stderr string
		status Status
	}{
		"a shell":   {sh("read x; while :; do :; done"), "/bin/sh: 1: CPU time limit exceeded\n", Status{Code: 2}},
		"a program": {sh("read x; exec yes >/dev/null"), "", Status{Signal: sigXCPU}},
		"a reader":  {sh("read x; exec md5sum /dev/zero"), "", Status{Signal: sigXCPU}},
		"a search":  {sh("read x; cd /tmp; : >a; set a; while [ $# -lt 2000 ]; do set -- $* $*; done; exec touch $*"), "", Status{Signal: sigXCPU}},
	} {
		t.Run(name, func(t *testing.T) {
			p, rec := start(t, system(t), Spec{Argv: c.argv, Stdin: true})
			p.tree.steps.Store(maxSteps - 1000)
			p.CloseStdin()
			arrives(t, "the end", p.Drained())
			if _, stderr := rec.texts(); stderr != c.stderr || p.Status() != c.status {
				t.Errorf("%+v, stderr %q", p.Status(), stderr)
			}
		})
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
		"stat": {doubled("f", "%n%n%n%n", 13) + "cd /tmp; echo >" + strings.Repeat("n", 200) + "; stat -c $f n*", 200*4<<13 + 1},
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

// What a waiting command holds is counted.
func TestAWaitingCommandIsCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		want int64
	}{
		"arguments":      {append(sh("read x"), make([]string, 100_000)...), 100_000 * argMemory},
		"function calls": {sh("f() { if [ $1 -gt 0 ]; then f $(($1-1)); else echo ready; read x; fi; }; f 400"), 400 * levelMemory},
	} {
		t.Run(name, func(t *testing.T) {
			s := system(t)
			p, _ := start(t, s, Spec{Argv: c.argv, Stdin: true})
			waitsForInput(t, p)
			if got := s.memory.used.Load(); got < c.want {
				t.Errorf("%d bytes are counted, want %d or more", got, c.want)
			}
			p.CloseStdin()
			arrives(t, "the end", p.Drained())
			givenBack(t, s)
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
