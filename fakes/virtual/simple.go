package virtual

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simple runs a simple command: assignments, words, redirections.
func (sh *shell) simple(cmd *syntax.CallExpr, redirs []*syntax.Redirect, tail bool) int {
	sh.substRan = false
	args, err := sh.fields(cmd.Args)
	if err != nil {
		return sh.expansionError(err)
	}
	if len(args) == 0 {
		return sh.assignments(cmd.Assigns, redirs)
	}
	sh.trace(cmd.Assigns, args)
	b := findBuiltin(args[0])
	fn := sh.funcs[args[0]]
	switch {
	case b != nil && b.special:
		if status := sh.assignAll(cmd.Assigns); status != 0 {
			return status
		}
		return sh.special(b, args, redirs)
	case fn == nil && b == nil:
		return sh.external(args, cmd.Assigns, redirs, tail)
	}
	undo, status := sh.assignFor(cmd.Assigns)
	defer undo()
	if status != 0 {
		return status
	}
	return sh.withRedirs(redirs, func() int {
		if fn != nil {
			return sh.call(fn, args)
		}
		return sh.runBuiltin(b, args)
	})
}

// assignments runs a command without words: its status is that of the last command substitution.
func (sh *shell) assignments(assigns []*syntax.Assign, redirs []*syntax.Redirect) int {
	if len(assigns) > 0 {
		sh.trace(assigns, nil)
	}
	if status := sh.withRedirs(redirs, func() int { return 0 }); status != 0 {
		return status
	}
	if status := sh.assignAll(assigns); status != 0 {
		return status
	}
	if sh.substRan {
		return sh.subst
	}
	return 0
}

func (sh *shell) assignAll(assigns []*syntax.Assign) int {
	for _, as := range assigns {
		value, err := sh.assigned(as)
		if err != nil {
			return sh.expansionError(err)
		}
		if err := sh.assign(as.Name.Value, value); err != nil {
			return sh.assignError(as.Name.Value, err)
		}
	}
	return 0
}

// assigned returns the value of an assignment.
func (sh *shell) assigned(as *syntax.Assign) (string, error) {
	if as.Array != nil || as.Index != nil {
		return "", errors.New("arrays are not supported")
	}
	value, err := sh.literal(as.Value)
	if err == nil && as.Append {
		value = sh.get(as.Name.Value) + value
	}
	return value, err
}

func (sh *shell) assignError(name string, err error) int {
	sh.errorf("%s: %v", name, err)
	return sh.exit(2)
}

// assignFor sets variables for one command only and exports them to it.
func (sh *shell) assignFor(assigns []*syntax.Assign) (undo func(), status int) {
	if len(assigns) == 0 {
		return func() {}, 0
	}
	old := make(map[string]variable, len(assigns))
	undo = func() {
		for name, v := range old {
			sh.put(name, v)
		}
	}
	for _, as := range assigns {
		name := as.Name.Value
		if _, ok := old[name]; !ok {
			old[name] = sh.vars[name]
		}
		if status := sh.assignAll([]*syntax.Assign{as}); status != 0 {
			return undo, status
		}
		v := sh.vars[name]
		v.exported = true
		sh.store(name, v)
	}
	return undo, 0
}

// special runs a special builtin: an error of its redirections ends the shell, and the redirections of exec stay.
func (sh *shell) special(b *builtin, args []string, redirs []*syntax.Redirect) int {
	if args[0] == "exec" {
		for _, rd := range redirs {
			if err := sh.redirect(rd); err != nil {
				sh.errorf("%v", err)
				return sh.exit(2)
			}
		}
		return sh.runBuiltin(b, args)
	}
	ran := false
	status := sh.withRedirs(redirs, func() int {
		ran = true
		return sh.runBuiltin(b, args)
	})
	if !ran {
		return sh.exit(status)
	}
	return status
}

// call runs a function.
func (sh *shell) call(body *syntax.Stmt, args []string) int {
	if sh.calls++; sh.calls > maxCalls {
		sh.calls--
		sh.errorf("Maximum function recursion depth (%d) reached", maxCalls)
		return sh.exit(2)
	}
	params, loops := sh.params, sh.loops
	sh.params, sh.loops = args[1:], 0
	sh.locals = append(sh.locals, nil)
	status := sh.stmt(body, false)
	for name, v := range sh.locals[len(sh.locals)-1] {
		sh.put(name, v)
	}
	sh.locals = sh.locals[:len(sh.locals)-1]
	sh.params, sh.loops = params, loops
	sh.calls--
	if sh.flow.kind == flowReturn {
		sh.flow = flow{}
		return sh.last
	}
	return status
}

// external runs a program as a child on this goroutine, or in the same process if the shell has nothing left to do.
func (sh *shell) external(args []string, assigns []*syntax.Assign, redirs []*syntax.Redirect, tail bool) int {
	inPlace := tail && len(sh.traps) == 0
	p := sh.p
	if !inPlace {
		child, err := sh.p.fork()
		if err != nil {
			return sh.forkError(err)
		}
		defer child.leave()
		p = child
		sh.group([]*Process{child})
		sh.yield(child)
		defer sh.regain()
	}
	undo, status := sh.assignFor(assigns)
	defer undo()
	if status == 0 {
		status = sh.program(p, args, redirs)
	}
	p.exit(status)
	if inPlace {
		sh.execed = true
		return status
	}
	return sh.ended(p)
}

// program runs a program as p, a child or the shell's own process.
func (sh *shell) program(p *Process, args []string, redirs []*syntax.Redirect) int {
	for _, rd := range redirs {
		if err := sh.redirectFor(p, rd); err != nil {
			return sh.redirectError(err)
		}
	}
	if p == sh.p {
		p.becomes()
	}
	t := &task{p: p, args: args, env: sh.environ(), dir: sh.dir, depth: sh.depth + programDepth}
	return t.exec(sh.prefix())
}

// trace implements set -x.
func (sh *shell) trace(assigns []*syntax.Assign, args []string) {
	if !sh.opts.xtrace {
		return
	}
	words := make([]string, 0, len(assigns)+len(args))
	for _, as := range assigns {
		if as.Value == nil || hasSubst(as.Value) {
			continue
		}
		if value, err := sh.literal(as.Value); err == nil {
			words = append(words, as.Name.Value+"="+value)
		}
	}
	words = append(words, args...)
	_ = sh.p.write(2, []byte("+ "+strings.Join(words, " ")+"\n"))
}

// hasSubst reports a word with a command substitution or an assignment, which tracing must not expand twice.
func hasSubst(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ArithmExp:
			found = true
		}
		return !found
	})
	return found
}
