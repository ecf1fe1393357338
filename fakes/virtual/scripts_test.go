package virtual

import (
	"fmt"
	"reflect"
	"testing"

	"assay/internal/testkit"
)

// Shells share a parsed script, so running it must not change it.
func TestARunChangesNothingOfAParsedScript(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, row := range allScripts() {
		for _, bash := range []bool{false, true} {
			s := system(t)
			key := scriptKey{bash, row.text}
			held := &parsed{shells: 1}
			held.once.Do(func() { held.parse(key) })
			s.scripts.running[key] = held
			argv := sh(row.text)
			if bash {
				argv[0] = "/bin/bash"
			}
			run(t, s, Spec{Argv: argv, Dir: "/tmp"}, row.stdin)
			fresh, _ := parse(row.text, bash)
			if !reflect.DeepEqual(held.lines, fresh) {
				t.Errorf("%s (bash %v): the run changed the statements of %q", row.name, bash, row.text)
			}
			if len(fresh) > 0 {
				ran++
			}
		}
	}
	if ran < 100 {
		t.Errorf("only %d scripts ran", ran)
	}
}

func TestShellsOfTheSameTextShareOneScript(t *testing.T) {
	t.Parallel()
	s := system(t)
	const text = "read x; echo got $x"
	var procs []*Process
	for range 3 {
		p, err := s.Start(Spec{Argv: sh(text), Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		procs = append(procs, p)
	}
	waitIdle(t, s, procs, func(int) bool { return true })
	s.scripts.mu.Lock()
	held := s.scripts.running[scriptKey{false, text}]
	if len(s.scripts.running) != 1 || held == nil || held.shells != 3 {
		t.Errorf("scripts %+v, want one of three shells", s.scripts.running)
	}
	s.scripts.mu.Unlock()
	s.KillAll()
	for _, p := range procs {
		arrives(t, "drain", p.Drained())
	}
	testkit.Eventually(t, func() error { // the goroutines end later
		s.scripts.mu.Lock()
		defer s.scripts.mu.Unlock()
		if n := len(s.scripts.running); n != 0 {
			return fmt.Errorf("%d scripts are held after the end of their shells", n)
		}
		return nil
	})
}
