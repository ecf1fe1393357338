package sdk_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
)

// script is a program of this folder that makes calls.
type script struct {
	file    string
	mode    string // what the commands of the gateway are
	pattern string // for the names of calls; "" is all
}

// The programs that make calls.
const (
	viaSDK         = "calls.mjs"
	viaSandboxes   = "sandboxes.mjs"
	viaInterpreter = "execute.mjs"
	viaStdio       = "stdio.mjs"
)

// What the commands of a gateway are.
const (
	virtual = "virtual"
	real    = "os"
)

// only is the pattern of one call.
func only(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

// accepts makes the calls of a script, at least fewest, each a subtest, and prints them as a table.
func accepts(t *testing.T, g endpoint, s script, fewest int) {
	t.Helper()
	var calls []call
	end, err := judgeOf(t, g).make(t, g, s, func(c call) {
		calls = append(calls, c)
		t.Run(c.Name, func(t *testing.T) {
			t.Logf("%.1f ms", c.MS)
			if !c.OK {
				t.Error(c.Error)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s on node %s, %s: %d calls, %d failed, %.1f s\n%s", end.Client, end.Node, t.Name(), end.Calls, end.Failed, end.MS/1000, table(calls))
	if end.Calls < fewest {
		t.Errorf("%d calls were made, want at least %d", end.Calls, fewest)
	}
}

// some makes the calls of a script; there must be one.
func some(t *testing.T, g endpoint, s script) []call {
	t.Helper()
	var calls []call
	if _, err := judgeOf(t, g).make(t, g, s, func(c call) { calls = append(calls, c) }); err != nil {
		t.Fatal(err)
	}
	if len(calls) == 0 {
		t.Fatalf("no call matches %q", s.pattern)
	}
	return calls
}

// notices wants a call of a program to fail.
func notices(t *testing.T, g endpoint, file, mode, name string) {
	t.Helper()
	if calls := some(t, g, script{file, mode, only(name)}); calls[0].OK {
		t.Errorf("%s: %q passed", file, name)
	}
}

// tolerates wants the calls of a script to be right.
func tolerates(t *testing.T, g endpoint, s script) {
	t.Helper()
	for _, c := range some(t, g, s) {
		if !c.OK {
			t.Errorf("%s: %q: %s", s.file, c.Name, c.Error)
		}
	}
}

// table draws the calls with their times.
func table(calls []call) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range calls {
		verdict := "ok"
		if !c.OK {
			verdict = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%.1f ms\t  %s\n", verdict, c.MS, c.Name)
	}
	w.Flush()
	return b.String()
}
