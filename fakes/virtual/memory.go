package virtual

import (
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// The limits of memory, by estimate. A command beyond its limit, or beyond what is left of that of the system, ends with errNoMemory.
const (
	maxMemory     = 128 << 20             // of one Start with all its processes
	maxSystem     = 512 << 20             // of all
	maxSteps      = 10 << 30              // statements and writes of one Start: about an hour of one core
	maxWrites     = maxSteps + 1<<10      // the same for writes, so that a shell still reports it
	stepsPerTurn  = 32                    // after which other goroutines get a turn
	turnTime      = 20 * time.Microsecond // of stepsPerTurn
	bytesPerStep  = 1 << 10               // of a read
	fewProcesses  = 8                     // which need not wait for each other
	processMemory = 2 << 10               // of a process, without its copy of the variables
	levelMemory   = 4 << 10               // of the stack of a nested statement
	fewLevels     = 32                    // that processMemory includes
	argMemory     = 80                    // of an argument of a Start, without its text
	envMemory     = 200                   // of a variable of a Start, without its text
	entryMemory   = 128                   // of a variable, without its text
	fieldMemory   = 64                    // of a field, without its text
	nodeMemory    = 320                   // of a node of a parsed script
	smallText     = 256                   // text up to this size is not counted where only the length of the script multiplies it
)

// errNoMemory ends a shell, as in dash.
const errNoMemory = complaint("Out of space")

// errCPU ends a shell at maxSteps.
const errCPU = complaint("CPU time limit exceeded")

// budget counts memory up to a limit, and also in its parent.
type budget struct {
	limit  int64
	used   atomic.Int64
	parent *budget
}

// take counts n bytes, or returns false if they do not fit. It always accepts bytes given back (n < 0).
func (b *budget) take(n int) bool {
	if b == nil || n == 0 {
		return true
	}
	if !b.takeOwn(n) {
		return false
	}
	if !b.parent.take(n) {
		b.giveOwn(n)
		return false
	}
	return true
}

// takeOwn is take without the parent.
func (b *budget) takeOwn(n int) bool {
	if b.used.Add(int64(n)) > b.limit && n > 0 {
		b.giveOwn(n)
		return false
	}
	return true
}

// giveOwn is give without the parent.
func (b *budget) giveOwn(n int) { b.used.Add(int64(-n)) }

// give returns n bytes, or counts more without a check where n is negative.
func (b *budget) give(n int) {
	for ; b != nil; b = b.parent {
		b.used.Add(int64(-n))
	}
}

// step counts a statement or a write and lets others run from time to time, so that busy loops delay nobody: a command of many processes takes about one
// core. It returns false beyond the limit.
func (p *Process) step(limit int64) bool { return p.addSteps(1, limit) }

// addSteps is step for n of them.
func (p *Process) addSteps(n, limit int64) bool {
	total := p.tree.steps.Add(n)
	if total/stepsPerTurn != (total-n)/stepsPerTurn {
		if crowd := p.tree.forked.Load(); crowd > fewProcesses {
			time.Sleep(time.Duration(crowd) * turnTime)
		} else {
			runtime.Gosched()
		}
	}
	return total <= limit
}

// pay counts the steps of a program. Beyond maxWrites it ends the process by SIGXCPU.
func (p *Process) pay(steps int) error {
	if p.addSteps(int64(steps), maxWrites) {
		return nil
	}
	p.end(Status{Signal: sigXCPU})
	return errDead
}

// memory is the budget of the command.
func (sh *shell) memory() *budget { return sh.p.tree.memory }

// keep counts memory that the shell holds until its end, and that a copy of the shell holds too.
func (sh *shell) keep(n int) error {
	if !sh.memory().take(n) {
		return errNoMemory
	}
	sh.held += n
	return nil
}

// spend counts memory that an expansion needs until it ends. It panics with errNoMemory because the library's callbacks return no errors; see guard.
func (sh *shell) spend(n int) {
	if !sh.memory().take(n) {
		panic(errNoMemory) //nolint:forbidigo // guard recovers it
	}
	sh.spent += n
}

// use counts a value that an expansion gets: its copies, and the fields that it may become.
func (sh *shell) use(value string) {
	if len(value) < smallText {
		return
	}
	n := 3 * len(value)
	if sh.splits {
		n += fieldMemory * separators(value, sh.get("IFS"))
	}
	sh.spend(n)
	sh.glob(value)
}

// glob counts a part of a word that the library may compile as the pattern of a path.
func (sh *shell) glob(part string) {
	if sh.dynamic += len(part); sh.dynamic > maxPattern {
		sh.cfg.ReadDir2 = nil // too long for a pattern
	} else if sh.splits && sh.cfg.ReadDir2 != nil && strings.ContainsAny(part, "*?[") {
		sh.spend(patternSize(part) * regexpMemory)
	}
}

// separators counts the bytes of value that are in ifs.
func separators(value, ifs string) int {
	ifs = ifs[:min(len(ifs), maxIFS)]
	n := 0
	for i := range len(value) {
		if strings.IndexByte(ifs, value[i]) >= 0 {
			n++
		}
	}
	return n
}

// settle gives back what was spent since sh.spent was before.
func (sh *shell) settle(before int) {
	sh.memory().give(sh.spent - before)
	sh.spent = before
}

// fork creates a child for this shell, see [Process.fork].
func (sh *shell) fork() (*Process, error) { return sh.p.fork(sh.copied()) }

// copied is the memory of a copy of the shell.
func (sh *shell) copied() int { return sh.held + sizeOf(sh.params) }

// hold counts the words of a running command. The caller gives n back.
func (sh *shell) hold(words []string) (n int, err error) {
	if n = sizeOf(words); n < smallText {
		return 0, nil
	}
	if !sh.memory().take(n) {
		return 0, errNoMemory
	}
	return n, nil
}

func sizeOf(words []string) int {
	n := 0
	for _, w := range words {
		n += len(w) + fieldMemory/2
	}
	return n
}

// size returns the memory of a variable and its entry.
func (v variable) size(name string) int {
	if v == (variable{}) {
		return 0
	}
	return entryMemory + len(name) + len(v.value)
}

// scriptMemory estimates the memory of a parsed script: its text, and a node for each character that can begin one.
func scriptMemory(text string) int {
	n := len(text)
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>', '$', '`', '"', '\'', '{', '}', ',', '~', '!', '+', '-', '*', '/', '%', '^', '=', '?', ':', '[', ']', '\\':
			n += nodeMemory
		}
	}
	return n
}

// treeMemory estimates the memory of a parsed statement.
func treeMemory(st *syntax.Stmt) int {
	if st == nil {
		return 0
	}
	total := 0
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			return true
		case *syntax.Lit:
			total += len(n.Value)
		case *syntax.SglQuoted:
			total += len(n.Value)
		case *syntax.Comment:
			total += len(n.Text)
		}
		total += nodeMemory / 2
		return true
	})
	return total
}
