package virtual

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
