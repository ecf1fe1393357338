package virtual

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit"
)

func itoa(n int) string { return strconv.Itoa(n) }

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
