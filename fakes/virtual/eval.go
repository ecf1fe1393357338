package virtual

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts runs statements in order. With tail, the process has nothing to do after the last one, which may then replace the shell.
func (sh *shell) stmts(list []*syntax.Stmt, tail bool) int {
	for i, st := range list {
		sh.stmt(st, tail && i == len(list)-1)
		if sh.stopped() {
			break
		}
	}
	return sh.last
}

// stmt runs one statement and stores its status in sh.last. Traps run between statements.
func (sh *shell) stmt(st *syntax.Stmt, tail bool) int {
	sh.runTraps()
	if sh.stopped() || sh.opts.noexec {
		return sh.last
	}
	if !sh.p.step() {
		return sh.expansionError(errNoMemory)
	}
	if sh.depth++; sh.depth > maxDepth {
		sh.errorf("Maximum nesting of commands reached")
		return sh.exit(2)
	}
	defer func() { sh.depth-- }()
	if st.Cmd != nil {
		sh.line = st.Cmd.Pos().Line()
	}
	switch {
	case st.Coprocess || st.Disown:
		sh.errorf("Syntax error: unknown kind of command")
		return sh.exit(2)
	case st.Background:
		sh.last = sh.background(st)
	default:
		sh.foreground(st, tail)
	}
	sh.runTraps()
	return sh.last
}

// foreground runs a statement here and applies ! and errexit.
func (sh *shell) foreground(st *syntax.Stmt, tail bool) {
	if st.Negated {
		sh.quiet++
	}
	status := sh.redirected(st, tail && !st.Negated)
	if st.Negated {
		sh.quiet--
		if sh.flow.kind == flowNone {
			status = truth(status != 0)
		}
	}
	if sh.flow.kind == flowExit || sh.flow.kind == flowReturn || sh.flow.kind == flowInterrupt {
		return // the jump has set the status
	}
	sh.last = status
	if status == 0 || !sh.opts.errexit || sh.quiet > 0 || st.Negated || isAndOr(st.Cmd) || sh.stopped() {
		return
	}
	sh.exit(status)
}

func isAndOr(cmd syntax.Command) bool {
	b, ok := cmd.(*syntax.BinaryCmd)
	return ok && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt)
}

// truth returns the status for ok.
func truth(ok bool) int {
	if ok {
		return 0
	}
	return 1
}

// redirected runs a statement's command under its redirections. A simple command applies its own.
func (sh *shell) redirected(st *syntax.Stmt, tail bool) int {
	call, simple := st.Cmd.(*syntax.CallExpr)
	switch {
	case simple:
		return sh.simple(call, st.Redirs, tail)
	case st.Cmd == nil:
		return sh.simple(&syntax.CallExpr{}, st.Redirs, false)
	case len(st.Redirs) == 0:
		return sh.command(st.Cmd, tail)
	}
	return sh.withRedirs(st.Redirs, func() int { return sh.command(st.Cmd, false) })
}

// command runs a compound command.
func (sh *shell) command(cmd syntax.Command, tail bool) int {
	switch cmd := cmd.(type) {
	case *syntax.Block:
		return sh.stmts(cmd.Stmts, tail)
	case *syntax.Subshell:
		return sh.inSubshell(cmd.Stmts, tail)
	case *syntax.BinaryCmd:
		return sh.binary(cmd, tail)
	case *syntax.IfClause:
		return sh.ifClause(cmd, tail)
	case *syntax.WhileClause:
		return sh.while(cmd)
	case *syntax.ForClause:
		return sh.forClause(cmd)
	case *syntax.CaseClause:
		return sh.caseClause(cmd, tail)
	case *syntax.FuncDecl:
		return sh.declare(cmd)
	case *syntax.DeclClause:
		return sh.declaration(cmd)
	case *syntax.ArithmCmd:
		return sh.arithmetic(cmd.X)
	case *syntax.LetClause:
		status := 0
		for _, x := range cmd.Exprs {
			status = sh.arithmetic(x)
		}
		return status
	case *syntax.TestClause:
		return sh.testClause(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return sh.stmt(cmd.Stmt, false)
		}
		return 0
	}
	sh.errorf("Syntax error: unknown kind of command")
	return sh.exit(2)
}

func (sh *shell) binary(cmd *syntax.BinaryCmd, tail bool) int {
	if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt {
		return sh.pipeline(cmd)
	}
	sh.quiet++
	status := sh.stmt(cmd.X, false)
	sh.quiet--
	if sh.stopped() || (status == 0) != (cmd.Op == syntax.AndStmt) {
		return status
	}
	return sh.stmt(cmd.Y, tail)
}

// inSubshell runs ( … ). With tail and without traps it uses this process, like dash.
func (sh *shell) inSubshell(list []*syntax.Stmt, tail bool) int {
	if tail && len(sh.traps) == 0 {
		sub := sh.subshell(sh.p)
		sub.stmts(list, true)
		sh.p.exit(sub.finish())
		return sh.last
	}
	child, err := sh.p.fork()
	if err != nil {
		return sh.forkError(err)
	}
	defer child.leave()
	sh.group([]*Process{child})
	sh.yield(child)
	defer sh.regain()
	sub := sh.subshell(child)
	sub.stmts(list, true)
	child.exit(sub.finish())
	return sh.ended(child)
}

// ended returns the status of a foreground child and prints dash's message for a signal.
func (sh *shell) ended(child *Process) int {
	st := child.Status()
	if text := signalText(st.Signal); text != "" {
		_ = sh.p.write(2, []byte(text+"\n"))
	}
	if sh.tty != nil && st.Signal == sigINT {
		sh.interrupt() // the key reached only the job, but applies to the shell too
	}
	return st.shellCode()
}

func (sh *shell) forkError(err error) int {
	if !sh.p.dead.Load() {
		sh.errorf("%v", err)
	}
	return sh.exit(2)
}

func (sh *shell) ifClause(cmd *syntax.IfClause, tail bool) int {
	for ; cmd != nil; cmd = cmd.Else {
		if len(cmd.Cond) > 0 { // else has no condition
			sh.quiet++
			status := sh.stmts(cmd.Cond, false)
			sh.quiet--
			if sh.stopped() {
				return sh.last
			}
			if status != 0 {
				continue
			}
		}
		return sh.stmts(cmd.Then, tail)
	}
	return 0
}

func (sh *shell) while(cmd *syntax.WhileClause) int {
	status := 0
	sh.loops++
	defer func() { sh.loops-- }()
	for !sh.stopped() {
		sh.quiet++
		cond := sh.stmts(cmd.Cond, false)
		sh.quiet--
		if sh.stopped() {
			if !sh.landed() {
				break
			}
			continue
		}
		if (cond == 0) == cmd.Until {
			break
		}
		status = sh.stmts(cmd.Do, false)
		if !sh.landed() {
			break
		}
	}
	return status
}

// landed handles a break or continue that ends here; false means that the loop ends.
func (sh *shell) landed() bool {
	switch sh.flow.kind {
	case flowNone:
		return true
	case flowBreak, flowContinue:
		sh.flow.loops--
		if sh.flow.loops > 0 {
			return false
		}
		again := sh.flow.kind == flowContinue
		sh.flow = flow{}
		return again
	default:
		return false
	}
}

func (sh *shell) forClause(cmd *syntax.ForClause) int {
	sh.loops++
	defer func() { sh.loops-- }()
	switch loop := cmd.Loop.(type) {
	case *syntax.WordIter:
		if cmd.Select {
			break
		}
		return sh.forWords(loop, cmd.Do)
	case *syntax.CStyleLoop:
		return sh.forArithmetic(loop, cmd.Do)
	}
	sh.errorf("Syntax error: select is not supported")
	return sh.exit(2)
}

func (sh *shell) forWords(loop *syntax.WordIter, do []*syntax.Stmt) int {
	items := sh.params
	if loop.InPos.IsValid() {
		var err error
		if items, err = sh.fields(loop.Items); err != nil {
			return sh.expansionError(err)
		}
	}
	status := 0
	for _, item := range items {
		if err := sh.assign(loop.Name.Value, item); err != nil {
			return sh.assignError(loop.Name.Value, err)
		}
		status = sh.stmts(do, false)
		if !sh.landed() || sh.stopped() {
			break
		}
	}
	return status
}

func (sh *shell) forArithmetic(loop *syntax.CStyleLoop, do []*syntax.Stmt) int {
	if loop.Init != nil {
		sh.arithmetic(loop.Init)
	}
	status := 0
	for !sh.stopped() && (loop.Cond == nil || sh.arithmetic(loop.Cond) == 0) && !sh.stopped() {
		status = sh.stmts(do, false)
		sh.runTraps() // the body may be empty
		if !sh.landed() {
			break
		}
		if loop.Post != nil {
			sh.arithmetic(loop.Post)
		}
	}
	return status
}

func (sh *shell) caseClause(cmd *syntax.CaseClause, tail bool) int {
	word, err := sh.literal(cmd.Word)
	if err != nil {
		return sh.expansionError(err)
	}
	through := false
	for i, item := range cmd.Items {
		ok := through
		for _, pat := range item.Patterns {
			if ok {
				break
			}
			if ok, err = sh.match(pat, word); err != nil {
				return sh.expansionError(err)
			}
		}
		if !ok {
			continue
		}
		through = item.Op == syntax.Fallthrough && i < len(cmd.Items)-1
		if len(item.Stmts) == 0 {
			sh.last = 0
		}
		status := sh.stmts(item.Stmts, tail && !through)
		if !through || sh.stopped() {
			return status
		}
	}
	return 0
}

func (sh *shell) declare(cmd *syntax.FuncDecl) int {
	if cmd.Name == nil {
		sh.errorf("Syntax error: Bad function name")
		return sh.exit(2)
	}
	if sh.funcs == nil {
		sh.funcs = make(map[string]*syntax.Stmt)
	}
	sh.funcs[cmd.Name.Value] = cmd.Body
	return 0
}

// declaration runs export, readonly, local and similar, whose assignments are not split into fields.
func (sh *shell) declaration(cmd *syntax.DeclClause) int {
	args := []string{cmd.Variant.Value}
	for _, as := range cmd.Args {
		if as.Name == nil {
			fields, err := sh.fields([]*syntax.Word{as.Value})
			if err != nil {
				return sh.expansionError(err)
			}
			args = append(args, fields...)
			continue
		}
		arg := as.Name.Value
		if !as.Naked {
			value, err := sh.assigned(as)
			if err != nil {
				return sh.expansionError(err)
			}
			arg += "=" + value
		}
		args = append(args, arg)
	}
	b := findBuiltin(args[0])
	if b == nil {
		return sh.notFound(args[0])
	}
	return sh.runBuiltin(b, args)
}

func (sh *shell) notFound(name string) int {
	sh.errorf("%s: not found", strings.TrimSpace(name))
	return 127
}
