package virtual

import "testing"

func benchmark(b *testing.B, argv ...string) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Start(Spec{Argv: argv})
		if err != nil {
			b.Fatal(err)
		}
		<-p.Drained()
	}
}

func BenchmarkSpawnTrue(b *testing.B) { benchmark(b, "true") }

func BenchmarkSpawnThroughPlainShell(b *testing.B) { benchmark(b, "/bin/sh", "-c", "sleep 0") }

func BenchmarkSpawnThroughShell(b *testing.B) { benchmark(b, "/bin/sh", "-c", "echo $HOME") }

func BenchmarkFiveLineLoop(b *testing.B) {
	benchmark(b, "/bin/sh", "-c", "for i in 1 2 3 4 5\ndo\n  x=$((i * 2))\n  [ $x -gt 4 ] && echo $x\ndone")
}

// BenchmarkLine is one turn of the loop that the default command of a load run is.
func BenchmarkLine(b *testing.B) {
	s := New(Options{})
	lines := make(chan struct{})
	p, err := s.Start(Spec{Argv: []string{"/bin/sh", "-c", "while :; do echo tick; sleep 0; done"}, Output: func(Stream, []byte) { lines <- struct{}{} }})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		<-lines
	}
	go func() {
		for range lines {
		}
	}()
	s.KillAll()
	<-p.Drained()
	close(lines)
}

func BenchmarkPipeline(b *testing.B) { benchmark(b, "/bin/sh", "-c", "seq 1 100 | tail -1") }

func BenchmarkYes(b *testing.B) {
	s := New(Options{})
	n := 0
	done := make(chan struct{})
	p, err := s.Start(Spec{Argv: []string{"yes"}, Output: func(_ Stream, p []byte) {
		if n += len(p); n >= b.N*len(p) {
			select {
			case done <- struct{}{}:
			default:
			}
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(flushAt)
	<-done
	s.KillAll()
	<-p.Drained()
}
