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
