package virtual

import (
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// scripts holds the parsed scripts that run now. Shells that run the same text share one: nothing changes the statements after they are
// parsed.
type scripts struct {
	mu      sync.Mutex
	running map[scriptKey]*parsed
}

// scriptKey is what a parsed script depends on.
type scriptKey struct {
	bash bool
	text string
}

// parsed is a script that at least one shell runs.
type parsed struct {
	shells int // guarded by scripts.mu

	once  sync.Once
	lines [][]*syntax.Stmt // the statements of each line, up to the first error
	err   error
}

// loaded is a parsed script of one shell, until release.
type loaded struct {
	*parsed
	sh  *shell
	key scriptKey
}

// load parses a script, or shares what another shell has parsed. The caller releases it when it has run.
func (sh *shell) load(text string) loaded {
	all, key := &sh.p.sys.scripts, scriptKey{sh.bash, text}
	all.mu.Lock()
	p := all.running[key]
	if p == nil {
		p = &parsed{}
		all.running[key] = p
	}
	p.shells++
	all.mu.Unlock()
	p.once.Do(func() { p.parse(key) })
	return loaded{p, sh, key}
}

// parse parses the script on a goroutine of its own: the parser recurses, and the stack that it needs would stay with the shell.
func (p *parsed) parse(key scriptKey) {
	done := make(chan struct{})
	detach(func() {
		defer close(done)
		p.lines, p.err = parse(key.text, key.bash)
	})
	<-done
}

// release lets go of the script.
func (s loaded) release() {
	all := &s.sh.p.sys.scripts
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.shells--; s.shells == 0 {
		delete(all.running, s.key)
	}
}
