//go:build !race

package interpreter

import (
	"strings"
	"testing"
)

func TestTheLimitsOfARun(t *testing.T) {
	t.Parallel()
	s := serve(t, Policy{})
	for name, c := range map[string]struct{ code, want string }{
		"doublings":                {"x = 'aaaa'\nfor i in range(60): x += x", "MemoryError"},
		"doublings of an element":  {"x = ['aaaa']\nfor i in range(60): x[0] += x[0]", "MemoryError"},
		"doublings of a list":      {"x = [1]\nfor i in range(60): x = x + x", "MemoryError"},
		"a repeated text":          {"'a' * 900000000", "MemoryError"},
		"a repeated list":          {"[0] * 900000000", "MemoryError"},
		"a list of a range":        {"list(range(1000000000))", "MemoryError"},
		"a search in a range":      {"max(range(1000000000000))", "MemoryError"},
		"a long join":              {"s = 'a' * 1000000\n','.join([s] * 100000)", "MemoryError"},
		"a long replacement":       {"s = 'a' * 100000\ns.replace('a', s)", "MemoryError"},
		"a replacement by getattr": {"s = 'a' * 100000\ngetattr(s, 'replace')('a', s)", "MemoryError"},
		"a long format":            {"s = 'a' * 1000000\n('{0}' * 100000).format(s)", "MemoryError"},
		"a long text of a list":    {"s = ['a' * 1000000] * 100000\nstr(s)", "MemoryError"},
		"a long print":             {"s = ['a' * 1000000] * 100000\nprint(s)", "MemoryError"},
		"many long copies":         {"s = 'a' * 1000000\nl = []\nfor i in range(1000): l.append(s.upper())", "MemoryError"},
		"large numbers":            {"x = 10\nfor i in range(100): x = x * x", "MemoryError"},
		"a number of many digits":  {"int('9' * 1000000)", "MemoryError"},
		"a deep list":              {"x = []\nfor i in range(100000): x = [x]\nprint(x)", "MemoryError"},
		"much output":              {"s = 'a' * 1000000\nfor i in range(100): print(s)", "MemoryError"},
		"deep brackets":            {strings.Repeat("(", 100000), "RuntimeError"},
		"recursion":                {"def f(): f()\nf()", "RecursionError"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := (&service{s.Server, t}).execute(fields{"code": c.code})
			if failure := lines[len(lines)-2]; failure["name"] != c.want {
				t.Errorf("%.200v", failure)
			}
		})
	}
}

func TestTheLimitOfTheVariablesOfAContext(t *testing.T) {
	t.Parallel()
	const text = "('a' * 40000000)"
	for name, c := range map[string]struct {
		code []string
		want string // of the last
	}{
		"two large texts":                {[]string{"x = " + text, "y = " + text}, "MemoryError"},
		"one in place of another":        {[]string{"x = " + text, "x = " + text}, ""},
		"one that is forgotten":          {[]string{"x = " + text, "x = None", "y = " + text}, ""},
		"one twice":                      {[]string{"x = " + text, "y = [x, x, (x, x)]\nz = {x: y}"}, ""},
		"in a list":                      {[]string{"x = [[" + text + "]]", "y = [[" + text + "]]"}, "MemoryError"},
		"in a dictionary":                {[]string{"x = {1: " + text + "}", "x[2] = " + text}, "MemoryError"},
		"in a set":                       {[]string{"x = set([" + text + "])", "y = set([(" + text + ", 1)])"}, "MemoryError"},
		"in the environment":             {[]string{"os_environ['X'] = " + text, "os_environ['Y'] = " + text}, "MemoryError"},
		"in a default":                   {[]string{"def f(a=" + text + "): pass", "def g(a=" + text + "): pass"}, "MemoryError"},
		"in a closure":                   {[]string{"def f(a): return lambda: a\nx = f(" + text + ")", "y = f(" + text + ")"}, "MemoryError"},
		"in what a function saw":         {[]string{"x = " + text + "\ndef f(): return x", "x = " + text}, "MemoryError"},
		"in a method":                    {[]string{"x = " + text + ".strip", "y = " + text + ".strip"}, "MemoryError"},
		"many small values":              {[]string{"x = [i for i in range(2000000)]", "y = [i for i in range(2200000)]"}, "MemoryError"},
		"before an error":                {[]string{"x = " + text, "y = " + text + "\n1//0", "x"}, "NameError"},
		"they are forgotten":             {[]string{"x = " + text, "y = " + text, "x"}, "NameError"},
		"a list in itself":               {[]string{"x = []\nx.append(x)", "1"}, ""},
		"deep lists":                     {[]string{"x = []\nfor i in range(500000): x = [x]", "1"}, ""},
		"a range takes nothing":          {[]string{"x = range(1000000000)", "1"}, ""},
		"a list of one text many times":  {[]string{"s = 'a' * 1000000\nx = [s] * 1000", "1"}, ""},
		"a list of one tuple many times": {[]string{"s = ('a' * 100, 1)\nx = [s] * 1000000", "1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, Policy{})
			for i, code := range c.code {
				want := ""
				if i == len(c.code)-1 {
					want = c.want
				}
				failed := ""
				for _, l := range s.execute(fields{"code": code}) {
					if l["type"] == TypeError {
						failed, _ = l["name"].(string)
					}
				}
				if failed != want && (i == len(c.code)-1 || i == 0) {
					t.Errorf("run %d fails with %q, want %q", i+1, failed, want)
				}
			}
		})
	}
}
