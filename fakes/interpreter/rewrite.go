package interpreter

import (
	"errors"
	"strings"

	"go.starlark.net/syntax"
)

// maxNesting is how deep brackets may nest, as in Python: the parser calls itself for each.
const maxNesting = 200

// maxCode limits the code of a run, in bytes.
const maxCode = 1 << 20

var (
	errNesting = errors.New("too many nested parentheses")
	errCode    = errors.New("the code is longer than 1 MiB")
)

// checkNesting refuses code that would take too much of the stack of the parser.
func checkNesting(code string) error {
	if len(code) > maxCode {
		return errCode
	}
	depth, quote := 0, ""
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case quote != "":
			if c == '\\' {
				i++
			} else if strings.HasPrefix(code[i:], quote) || c == '\n' && len(quote) == 1 {
				i += len(quote) - 1
				quote = ""
			}
		case c == '"' || c == '\'':
			quote = string(c)
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(code[i:], triple) {
				quote = triple
			}
			i += len(quote) - 1
		case c == '#':
			if end := strings.IndexByte(code[i:], '\n'); end >= 0 {
				i += end
			} else {
				return nil
			}
		case c == '(' || c == '[' || c == '{':
			if depth++; depth > maxNesting {
				return errNesting
			}
		case c == ')' || c == ']' || c == '}':
			depth = max(0, depth-1)
		}
	}
	return nil
}

// guardFile replaces what may make large values by calls of the guards.
func guardFile(f *syntax.File) { guardAll(f.Stmts) }

func guardAll(all []syntax.Stmt) {
	for i := range all {
		all[i] = guardStmt(all[i])
	}
}

func guardStmt(s syntax.Stmt) syntax.Stmt {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return guardAssign(s)
	case *syntax.DefStmt:
		guardExprs(s.Params)
		guardAll(s.Body)
	case *syntax.ExprStmt:
		s.X = guardExpr(s.X)
	case *syntax.ForStmt:
		guardTarget(s.Vars)
		s.X = guardExpr(s.X)
		guardAll(s.Body)
	case *syntax.WhileStmt:
		s.Cond = guardExpr(s.Cond)
		guardAll(s.Body)
	case *syntax.IfStmt:
		s.Cond = guardExpr(s.Cond)
		guardAll(s.True)
		guardAll(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = guardExpr(s.Result)
		}
	}
	return s
}

// guardAssign returns the guarded form of an assignment. x += y becomes x += grow("+", x, y),
// which charges and returns y; x[i] += y becomes the call of a guard.
func guardAssign(s *syntax.AssignStmt) syntax.Stmt {
	guardTarget(s.LHS)
	s.RHS = guardExpr(s.RHS)
	op, ok := augmented[s.Op]
	if !ok {
		return s
	}
	at, name := s.OpPos, textAt(s.OpPos, operators[op])
	switch x := unparen(s.LHS).(type) {
	case *syntax.Ident:
		s.RHS = callOf(at, fnGrow, name, &syntax.Ident{NamePos: x.NamePos, Name: x.Name}, s.RHS)
	case *syntax.IndexExpr:
		return &syntax.ExprStmt{X: callOf(at, fnGrowItem, name, x.X, x.Y, s.RHS)}
	}
	return s // no other target can be assigned to
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		p, ok := x.(*syntax.ParenExpr)
		if !ok {
			return x
		}
		x = p.X
	}
}

// guardTarget guards the expressions inside of what is assigned to.
func guardTarget(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.IndexExpr:
		x.X, x.Y = guardExpr(x.X), guardExpr(x.Y)
	case *syntax.DotExpr:
		x.X = guardExpr(x.X)
	case *syntax.ParenExpr:
		guardTarget(x.X)
	case *syntax.ListExpr:
		for _, e := range x.List {
			guardTarget(e)
		}
	case *syntax.TupleExpr:
		for _, e := range x.List {
			guardTarget(e)
		}
	}
}

func guardExprs(all []syntax.Expr) {
	for i := range all {
		all[i] = guardExpr(all[i])
	}
}

// guardExpr returns the guarded form of an expression.
func guardExpr(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.BinaryExpr:
		return guardBinary(x)
	case *syntax.UnaryExpr:
		return guardUnary(x)
	case *syntax.CallExpr:
		x.Fn = guardExpr(x.Fn)
		guardExprs(x.Args)
	case *syntax.DotExpr:
		inner := guardExpr(x.X)
		if _, risky := guardedMethods[x.Name.Name]; risky {
			return callOf(x.NamePos, fnAttr, inner, textAt(x.NamePos, x.Name.Name))
		}
		x.X = inner
	case *syntax.SliceExpr:
		x.X = callOf(x.Lbrack, fnCopy, guardExpr(x.X))
		for _, part := range []*syntax.Expr{&x.Lo, &x.Hi, &x.Step} {
			if *part != nil {
				*part = guardExpr(*part)
			}
		}
	case *syntax.IndexExpr:
		x.X, x.Y = guardExpr(x.X), guardExpr(x.Y)
	case *syntax.ParenExpr:
		x.X = guardExpr(x.X)
	case *syntax.CondExpr:
		x.Cond, x.True, x.False = guardExpr(x.Cond), guardExpr(x.True), guardExpr(x.False)
	case *syntax.LambdaExpr:
		guardExprs(x.Params)
		x.Body = guardExpr(x.Body)
	case *syntax.ListExpr:
		guardExprs(x.List)
	case *syntax.TupleExpr:
		guardExprs(x.List)
	case *syntax.DictExpr:
		guardExprs(x.List)
	case *syntax.DictEntry:
		x.Key, x.Value = guardExpr(x.Key), guardExpr(x.Value)
	case *syntax.Comprehension:
		guardComprehension(x)
	}
	return x
}

// guardBinary guards x + y and the like. k=v, of a call or a parameter, has the same form.
func guardBinary(x *syntax.BinaryExpr) syntax.Expr {
	x.Y = guardExpr(x.Y)
	if x.Op == syntax.EQ {
		return x
	}
	x.X = guardExpr(x.X)
	if name, ok := operators[x.Op]; ok {
		return callOf(x.OpPos, name, x.X, x.Y)
	}
	return x
}

// guardUnary guards *args of a call. A parameter of that form is only a name.
func guardUnary(x *syntax.UnaryExpr) syntax.Expr {
	if _, name := x.X.(*syntax.Ident); x.X == nil || name && (x.Op == syntax.STAR || x.Op == syntax.STARSTAR) {
		return x
	}
	if x.X = guardExpr(x.X); x.Op == syntax.STAR {
		x.X = callOf(x.OpPos, fnCopy, x.X)
	}
	return x
}

func guardComprehension(x *syntax.Comprehension) {
	x.Body = guardExpr(x.Body)
	for _, c := range x.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			guardTarget(c.Vars)
			c.X = guardExpr(c.X)
		case *syntax.IfClause:
			c.Cond = guardExpr(c.Cond)
		}
	}
}

// callOf returns the call of a guard.
func callOf(at syntax.Position, name string, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}

func textAt(at syntax.Position, text string) syntax.Expr {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: at, Raw: `"` + text + `"`, Value: text}
}
