package virtual

import (
	"math"
	"strconv"
	"strings"
)

// seqProgram is seq [-w] [-s SEP] [FIRST [STEP]] LAST.
func seqProgram(t *task) int {
	args := t.args[1:]
	sep, equal := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.IndexByte("0123456789.", args[0][1]) < 0 {
		switch arg := args[0]; {
		case arg == "-w":
			equal = true
		case arg == "-s" && len(args) > 1:
			sep = args[1]
			args = args[1:]
		case strings.HasPrefix(arg, "-s"):
			sep = arg[2:]
		default:
			return t.fail("invalid option -- '%s'", arg)
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return t.fail("missing operand")
	}
	if len(args) > 3 {
		return t.fail("extra operand '%s'", args[3])
	}
	r, bad := parseRange(args)
	if bad != "" {
		return t.fail("invalid floating point argument: '%s'", bad)
	}
	if r.step == 0 {
		return t.fail("invalid Zero increment value: '%s'", args[1])
	}
	if equal {
		r.width = max(len(r.text(0)), len(r.text(r.count()-1)))
	}
	return t.printRange(r, sep)
}

// numbers is an arithmetic progression, printed with a fixed number of decimals.
type numbers struct {
	first, step, last float64
	decimals          int
	width             int // zero-padded width
}

func parseRange(args []string) (r numbers, bad string) {
	r.first, r.step = 1, 1
	at := []*float64{&r.last}
	switch len(args) {
	case 2:
		at = []*float64{&r.first, &r.last}
	case 3:
		at = []*float64{&r.first, &r.step, &r.last}
	}
	for i, arg := range args {
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) && i < len(args)-1 {
			return r, arg
		}
		*at[i] = v
		if _, frac, ok := strings.Cut(arg, "."); ok && i < max(1, len(args)-1) {
			r.decimals = max(r.decimals, min(len(frac), 20))
		}
	}
	return r, ""
}

// count returns the number of numbers; MaxInt64 means endless.
func (r numbers) count() int64 {
	n := math.Floor((r.last-r.first)/r.step + 1e-10)
	switch {
	case n < 0 || math.IsNaN(n):
		return 0
	case n >= math.MaxInt64:
		return math.MaxInt64
	}
	return int64(n) + 1
}

func (r numbers) text(i int64) string {
	s := strconv.FormatFloat(r.first+float64(i)*r.step, 'f', r.decimals, 64)
	if gap := r.width - len(s); gap > 0 {
		sign := ""
		if strings.HasPrefix(s, "-") {
			sign, s = "-", s[1:]
		}
		s = sign + strings.Repeat("0", gap) + s
	}
	return s
}

func (t *task) printRange(r numbers, sep string) int {
	out := &gather{p: t.p}
	n := r.count()
	for i := int64(0); i < n && out.err == nil; i++ {
		if i > 0 {
			out.add([]byte(sep)...)
		}
		if r.decimals == 0 && r.width == 0 && math.Abs(r.first+float64(i)*r.step) < 1<<53 {
			out.buf = strconv.AppendInt(out.buf, int64(r.first+float64(i)*r.step), 10)
		} else {
			out.buf = append(out.buf, r.text(i)...)
		}
	}
	if n > 0 {
		out.add('\n')
	}
	out.flush()
	return truth(out.err == nil)
}
