package virtual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"assay/internal/testkit"
)

// screen is a terminal in a test.
type screen struct {
	*Process
	*recorder
}

func onTerminal(t *testing.T, s *System, argv ...string) screen {
	t.Helper()
	rec := &recorder{}
	p, err := s.Start(Spec{Argv: argv, PTY: &Size{Cols: 80, Rows: 24}, Env: map[string]string{"PS1": "> "}, Output: func(stream Stream, p []byte) {
		if stream != PTY {
			t.Errorf("output on stream %v", stream)
		}
		rec.output(Stdout, p)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return screen{p, rec}
}

func (s screen) types(t *testing.T, text string) {
	t.Helper()
	if err := s.Write(context.Background(), []byte(text)); err != nil {
		t.Fatalf("type %q: %v", text, err)
	}
}

func TestABlockedScreenStopsTheWriterAndNeitherKeysNorSignals(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	testkit.CheckLeaks(t)
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	var once sync.Once
	s := system(t)
	p, err := s.Start(Spec{Argv: []string{"yes"}, PTY: &Size{}, Output: func(Stream, []byte) {
		once.Do(func() { entered <- struct{}{} })
		<-release
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Write(ctx, []byte("typed ahead\n")); err != nil {
		t.Errorf("a key: %v", err)
	}
	if err := p.Write(ctx, []byte("\x03")); err != nil {
		t.Errorf("^C: %v", err)
	}
	arrives(t, "exit", p.Exited())
	if got := p.Status(); got != (Status{Signal: sigINT}) {
		t.Errorf("ended with %+v", got)
	}
	select {
	case <-p.Drained():
		t.Error("drained during a delivery")
	default:
	}
	if err := p.Write(ctx, []byte("x")); !errors.Is(err, ErrBrokenPipe) {
		t.Errorf("a key after the end: %v", err)
	}
	close(release)
	arrives(t, "drain", p.Drained())
}

func TestNothingIsShownAfterTheDrain(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := system(t)
		var mu sync.Mutex
		drained := false
		p, err := s.Start(Spec{Argv: sh("read x"), PTY: &Size{}, Output: func(Stream, []byte) {
			mu.Lock()
			defer mu.Unlock()
			if drained {
				t.Error("output after the drain")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		var typing sync.WaitGroup
		typing.Go(func() {
			for p.Write(context.Background(), []byte("a")) == nil {
				runtime.Gosched()
			}
		})
		if err := p.Write(context.Background(), []byte("x\n")); err != nil {
			t.Fatal(err)
		}
		arrives(t, "drain", p.Drained())
		mu.Lock()
		drained = true
		mu.Unlock()
		typing.Wait()
	}
}

func TestTypingBlocksWhenNobodyReads(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, system(t), "sleep", "100")
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error)
	go func() { done <- p.Write(ctx, bytes.Repeat([]byte("a  line\n"), 20_000)) }()
	gaveUp := errors.New("gave up")
	testkit.Eventually(t, func() error {
		p.tty.mu.Lock()
		defer p.tty.mu.Unlock()
		if n := len(p.tty.disc.ready); n < pipeSize {
			return fmt.Errorf("the input has %d bytes, and is full with %d", n, pipeSize)
		}
		return nil
	})
	cancel(gaveUp)
	if err := <-done; !errors.Is(err, gaveUp) {
		t.Errorf("write ended with %v", err)
	}
}

func TestTerminalCallsOnOtherProcesses(t *testing.T) {
	t.Parallel()
	s := system(t)
	p, _ := start(t, s, Spec{Argv: []string{"cat"}, Stdin: true})
	if err := p.Resize(Size{1, 1}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("resize without a terminal: %v", err)
	}
	p.CloseStdin()
	arrives(t, "drain", p.Drained())
	q := onTerminal(t, s, "true")
	arrives(t, "drain", q.Drained())
	if err := q.Resize(Size{1, 1}); !errors.Is(err, ErrEnded) {
		t.Errorf("resize after the end: %v", err)
	}
}

func TestJobsOfAShellAreGroups(t *testing.T) {
	t.Parallel()
	s := system(t)
	p := onTerminal(t, s, "sh")
	p.await(t, "> ")
	shown := "> sleep 100 &\r\n> "
	p.types(t, "sleep 100 &\n")
	p.await(t, shown)
	p.types(t, "jobs\n")
	shown += "jobs\r\n[1] + Running                    sleep 100\r\n> "
	p.await(t, shown)
	p.types(t, "\x03")
	p.await(t, shown+"^C\r\n> ")
	if n := len(s.group(p.PID())); n != 1 {
		t.Errorf("%d processes in the shell's group", n)
	}
	p.types(t, "kill $!; wait; cat &\n")
	p.types(t, "exit 3\n")
	arrives(t, "exit", p.Exited())
	if got := p.Status(); got != (Status{Code: 3}) {
		t.Errorf("ended with %+v", got)
	}
	select {
	case <-p.Drained():
		t.Error("drained although a stopped job holds the terminal")
	default:
	}
	s.KillAll()
	arrives(t, "drain", p.Drained())
}

func TestBashSaysHowItGoes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		argv []string
		keys string
		end  string
		code int
	}{
		{[]string{"bash", "-i"}, "exit 4\n", "> exit 4\r\nexit\r\n", 4},
		{[]string{"bash", "-i", "-l"}, "exit 4\n", "> exit 4\r\nlogout\r\n", 4},
		{[]string{"bash", "-i", "-l"}, "\x04", "> logout\r\n", 0},
		{[]string{"bash"}, "PS1='\\u:\\W\\$ '\nexit\n", "> PS1='\\u:\\W\\$ '\r\nexit\r\nroot:~# exit\r\n", 0},
	} {
		p := onTerminal(t, system(t), row.argv...)
		p.types(t, row.keys)
		arrives(t, "drain", p.Drained())
		out, _ := p.texts()
		prompted := strings.Replace(out, "> ", "", 1)
		if want := strings.Replace(row.end, "> ", "", 1); prompted != want || p.Status().Code != row.code {
			t.Errorf("%q on %q: %q, status %+v, want %q", row.argv, row.keys, out, p.Status(), row.end)
		}
	}
}

func TestAShellWithoutATerminalCannotControlJobs(t *testing.T) {
	t.Parallel()
	s := system(t)
	got := run(t, s, Spec{Argv: []string{"sh", "-i"}, Env: map[string]string{"PS1": "> "}}, "echo $-; echo a\nfalse\n")
	if got.stdout != "si\na\n" || got.stderr != "sh: 0: can't access tty; job control turned off\n> > > \n" || got.status.Code != 1 {
		t.Errorf("%+v", got)
	}
}

func idleTerminals(t *testing.T, argv []string, most int) {
	testkit.CheckLeaks(t)
	const n = 10_000
	s := New(Options{})
	fds, mem := descriptorCount(t), memoryInUse()
	procs := make([]*Process, n)
	shown := make(chan struct{}, n)
	for i := range procs {
		var once sync.Once
		p, err := s.Start(Spec{Argv: argv, PTY: &Size{Cols: 80, Rows: 24}, Output: func(Stream, []byte) { once.Do(func() { shown <- struct{}{} }) }})
		if err != nil {
			t.Fatal(err)
		}
		procs[i] = p
	}
	for _, p := range procs {
		if argv[0] == "/bin/sh" {
			break // it prints nothing and reads nothing
		}
		if argv[0] == "sh" {
			<-shown
		}
		waitReading(t, p.tty)
	}
	more, each := descriptorCount(t)-fds, (memoryInUse()-mem)/n
	t.Logf("%d idle terminals with %q: %d descriptors more, %d bytes each", n, argv, more, each)
	if more >= 64 {
		t.Errorf("%d terminals took %d descriptors", n, more)
	}
	if each < 1<<10 || each > most {
		t.Errorf("an idle terminal with %q takes %d bytes, want 1 KiB to %d", argv, each, most)
	}
	s.KillAll()
	for _, p := range procs {
		arrives(t, "drain", p.Drained())
	}
}

// waitReading waits until a process reads the terminal.
func waitReading(t *testing.T, on *terminal) {
	t.Helper()
	testkit.Eventually(t, func() error {
		on.mu.Lock()
		defer on.mu.Unlock()
		if on.changed == nil {
			return errors.New("nobody reads the terminal")
		}
		return nil
	})
}

// BenchmarkIdleTerminal measures the memory of a terminal that cat reads.
func BenchmarkIdleTerminal(b *testing.B) {
	s := New(Options{})
	before := memoryInUse()
	procs := make([]*Process, 0, b.N)
	for b.Loop() {
		p, err := s.Start(Spec{Argv: []string{"cat"}, PTY: &Size{Cols: 80, Rows: 24}})
		if err != nil {
			b.Fatal(err)
		}
		procs = append(procs, p)
	}
	b.ReportMetric(float64(memoryInUse()-before)/float64(len(procs)), "B/terminal")
	s.KillAll()
	for _, p := range procs {
		<-p.Drained()
	}
}

// BenchmarkKeystroke measures the cost of a line that is typed, echoed and
// printed back.
func BenchmarkKeystroke(b *testing.B) {
	s := New(Options{})
	answers := make(chan struct{}, 16)
	p, err := s.Start(Spec{Argv: []string{"cat"}, PTY: &Size{}, Output: func(_ Stream, p []byte) {
		for range bytes.Count(p, []byte("\n")) {
			answers <- struct{}{}
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := p.Write(context.Background(), []byte("a\n")); err != nil {
			b.Fatal(err)
		}
		<-answers
		<-answers
	}
	_ = p.Signal(syscall.SIGKILL)
	<-p.Drained()
}
