//go:build !race

package interpreter

import (
	"runtime"
	"strings"
	"testing"
)

func TestTheLimitsOfARun(t *testing.T) {
	t.Parallel()
	s := serve(t, Policy{})
	for name, c := range map[string]struct{ code, want string }{
		"a repeated text": {"'a' * 9000000000", "MemoryError"},
		"much output":     {"s = 'a' * 1000000\nfor i in range(100): print(s)", "MemoryError"},
		"deep brackets":   {strings.Repeat("(", 100000), "RuntimeError"},
		"an endless loop": {"while True: pass", "RuntimeError"},
		"recursion":       {"def f(): f()\nf()", "RecursionError"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := (&service{s.Server, t}).execute(fields{"code": c.code})
			if failure := lines[len(lines)-2]; failure["name"] != c.want {
				t.Errorf("%.200v", failure)
			}
		})
	}
}

func TestNoCodeRunsWhileTheHeapIsTooLarge(t *testing.T) {
	t.Parallel()
	runtime.GC() // the heap is measured at a collection
	small := New(Options{AfterFunc: after})
	small.maxHeap = 1
	s := serveServer(t, small)
	if got := brief(s.execute(fields{"code": "1"})); got != `number_of_executions 1; error "MemoryError"; end_of_execution` {
		t.Error(got)
	}
}
