//go:build !race

package virtual

import (
	"testing"

	"assay/internal/testkit"
)

// A loop in a shell is the default command of a load run. Half of what it takes is the stack of its goroutine.
func TestTenThousandLoopsAreSmall(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	testkit.CheckLeaks(t)
	const n = 10_000
	s := New(Options{})
	mem := memoryInUse()
	printed := make(chan struct{}, n)
	for range n {
		_, err := s.Start(Spec{Argv: sh("while :; do echo tick; sleep 1000; done"), Output: func(s Stream, _ []byte) {
			if s == Stdout { // a shell whose sleep is killed first says so on stderr
				printed <- struct{}{}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		<-printed
	}
	each := (memoryInUse() - mem) / n
	if each < 1<<10 || each > 17<<10 {
		t.Errorf("a loop takes %d bytes, want 1 KiB to 17 KiB", each)
	}
	s.KillAll()
}

func TestTenThousandIdleProcessesHoldNoDescriptor(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	testkit.CheckLeaks(t)
	const n = 10_000
	s := New(Options{})
	fds, mem := descriptorCount(t), memoryInUse()
	kinds := [][]string{{"sleep", "100"}, {"cat"}, sh("sleep 100"), sh("read x")}
	procs := make([]*Process, n)
	for i := range procs {
		p, err := s.Start(Spec{Argv: kinds[i%len(kinds)], Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		procs[i] = p
	}
	waitIdle(t, s, procs, func(i int) bool { return i%2 == 1 })
	more, each := descriptorCount(t)-fds, (memoryInUse()-mem)/n
	t.Logf("%d idle processes: %d descriptors more, %d bytes each", n, more, each)
	if more >= 64 {
		t.Errorf("%d idle processes took %d descriptors, want fewer than 64", n, more)
	}
	if each < 1<<10 || each > 24<<10 {
		t.Errorf("an idle process takes %d bytes, want 1 to 24 KiB", each)
	}
	s.KillAll()
	for _, p := range procs {
		arrives(t, "drain", p.Drained())
		if got := p.Status(); got.Signal != sigKILL {
			t.Fatalf("ended with %+v", got)
		}
	}
}
