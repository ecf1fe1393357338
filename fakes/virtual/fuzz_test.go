package virtual

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"assay/internal/testkit"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestPlainWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"sleep 5":         {"sleep", "5"},
		" cat\t-u \n":     {"cat", "-u"},
		`echo 'a b' "c"d`: {"echo", "a b", "cd"},
		"a '' b":          {"a", "", "b"},
		"":                nil, "  ": nil, "a;b": nil, "a $x": nil, "a *": nil, "a\nb": nil, "a # b": nil, `a "$x"`: nil, "a 'b": nil, `a\ b`: nil, "a > b": nil, "~/x": nil, "! a": nil,
	} {
		got, ok := plainWords(text)
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("plainWords(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
}

// FuzzPlainWords compares the bypass with the parser: text that the bypass accepts must be one command of exactly these
// words. The parser refuses invalid UTF-8 and drops a carriage return before a newline; dash and the bypass keep both.
func FuzzPlainWords(f *testing.F) {
	for _, text := range []string{"sleep 5", "a 'b c' d", "echo \"x\"y", "a=b c", "if x", "a{b,c}", "a # b", "x 2>y", "a ''", "time x", "a%b @c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, ok := plainWords(text)
		if !ok || strings.Contains(words[0], "=") || isReserved(words[0]) || !utf8.ValidString(text) || strings.Contains(text, "\r") {
			return
		}
		for _, lang := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
			file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
			if err != nil {
				t.Fatalf("the bypass accepts %q: %v", text, err)
			}
			if len(file.Stmts) != 1 || len(file.Stmts[0].Redirs) > 0 || file.Stmts[0].Background || file.Stmts[0].Negated {
				t.Fatalf("%q is more than one plain command", text)
			}
			call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
			if !ok || len(call.Assigns) > 0 {
				t.Fatalf("%q is a %T", text, file.Stmts[0].Cmd)
			}
			fields, err := expand.Fields(nil, call.Args...)
			if err != nil || !slices.Equal(fields, words) {
				t.Fatalf("%q is %q to the parser, %q to the bypass (%v)", text, fields, words, err)
			}
		}
	})
}

// FuzzShell runs any text in a new system, so that a crasher needs no other input. The shell must end by itself or by
// SIGKILL, and leave nothing behind but files: no process, no miscounted space.
func FuzzShell(f *testing.F) {
	for _, row := range allScripts() {
		f.Add(row.text, false)
	}
	for _, text := range []string{
		"while :; do :; done", "x=$(cat)", "[[ a =~ ( ]]", "echo ${x:1:2} ${x/a/b} ${!x}", "a=(1 2)", "echo $((x[1]))", "f(){ f|f& };f", "cat <(x)", "select x in a; do :; done",
		"coproc x", "echo ${x@Q}", "case x in *[) :;; esac", "$((", "${", "echo $[1+1]", "printf %*d 99999999999 1", "exec 9>&1 8<&9", "trap : 99; kill -99 $$", "let", "declare -A x; x[a]=1",
		"rm /bin/cat; read x </usr/bin/cat", "mv /bin/ls /usr/bin/ls; read x </usr/bin/ls", "rm -r /usr /etc", "cd /tmp; echo x >a; exec 3<a 4>>a; rm a; echo y >&4", "sleep 9 >/dev/null 2>&1 &",
	} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, bash bool) {
		if len(text) > 2048 || strings.IndexByte(text, 0) >= 0 {
			return
		}
		name := "sh"
		if bash {
			name = "bash"
		}
		s := New(Options{})
		p, err := s.Start(Spec{Argv: []string{name, "-c", text}})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Drained():
		case <-time.After(50 * time.Millisecond):
		}
		s.KillAll() // also background jobs without output
		arrives(t, "the end by SIGKILL", p.Drained())
		filesAreCounted(t, s.fs)
	})
}

// filesAreCounted checks that the space in use is that of all files. It waits for the goroutines that end.
func filesAreCounted(t *testing.T, f *fileSystem) {
	t.Helper()
	testkit.Eventually(t, func() error {
		f.mu.RLock()
		defer f.mu.RUnlock()
		sum, seen := 0, make(map[*node]bool)
		var wrong error
		var walk func(dir string, n *node)
		walk = func(dir string, n *node) {
			for base, child := range n.entries {
				name := dir + "/" + base
				if child.links == 0 {
					wrong = fmt.Errorf("%s has no links", name)
				}
				if !seen[child] {
					seen[child] = true
					sum += len(child.data)
				}
				walk(name, child)
			}
		}
		walk("", f.root)
		if sum != f.used {
			return fmt.Errorf("%d bytes are counted, but the files have %d", f.used, sum)
		}
		return wrong
	})
}
