package virtual

import (
	"errors"
	"regexp"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// testClause is bash's [[ … ]].
func (sh *shell) testClause(cmd *syntax.TestClause) int {
	t := newTester(sh.p, sh.dir)
	ok, err := sh.testExpr(t, cmd.X)
	if err == nil {
		err = t.err
	}
	if err != nil {
		sh.errorf("%v", err)
		return 2
	}
	return truth(ok)
}

func (sh *shell) testExpr(t *tester, x syntax.TestExpr) (bool, error) {
	switch x := x.(type) {
	case *syntax.Word:
		s, err := sh.literal(x)
		return s != "", err
	case *syntax.ParenTest:
		return sh.testExpr(t, x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			ok, err := sh.testExpr(t, x.X)
			return !ok, err
		}
		w, _ := x.X.(*syntax.Word)
		s, err := sh.literal(w)
		return err == nil && t.unary(x.Op.String(), s), err
	case *syntax.BinaryTest:
		return sh.binaryTest(t, x)
	}
	return false, errors.New("unknown expression")
}

func (sh *shell) binaryTest(t *tester, x *syntax.BinaryTest) (bool, error) {
	if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
		ok, err := sh.testExpr(t, x.X)
		if err != nil || ok == (x.Op == syntax.OrTest) {
			return ok, err
		}
		return sh.testExpr(t, x.Y)
	}
	left, _ := x.X.(*syntax.Word)
	right, _ := x.Y.(*syntax.Word)
	s, err := sh.literal(left)
	if err != nil {
		return false, err
	}
	switch op := x.Op.String(); op {
	case "=", "==", "!=":
		ok, err := sh.match(right, s)
		return ok == (op != "!="), err
	case "=~":
		text, err := sh.literal(right)
		if err != nil {
			return false, err
		}
		rx, err := regexp.Compile(text)
		return err == nil && rx.MatchString(s), err
	default:
		y, err := sh.literal(right)
		return err == nil && t.binary(s, op, y), err
	}
}

// arithmetic is (( … )): 0 for a value that is not zero.
func (sh *shell) arithmetic(x syntax.ArithmExpr) (status int) {
	n, err := sh.evaluate(x)
	if err != nil {
		return sh.expansionError(err)
	}
	sh.last = truth(n != 0)
	return sh.last
}

func (sh *shell) evaluate(x syntax.ArithmExpr) (n int, err error) {
	defer guard(&err)
	if x == nil {
		return 0, nil
	}
	return expand.Arithm(sh.config(), x)
}
