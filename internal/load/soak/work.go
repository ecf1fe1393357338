package soak

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/load"
	"assay/internal/load/soak/client"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// The limits of one piece of work, before the time scale.
const (
	workLimit    = 10 * time.Second
	deadlineOf   = 300 * time.Millisecond
	deadlineLate = 5 * time.Second
	fileSize     = 64 << 10
	workAtMost   = time.Second // between two pieces of work, at most
)

// worker does the work that is no stream: deadlines, a second client of a process, files. It does one piece at
// a time, and keeps the ledger of its processes.
type worker struct {
	*client.Client
	work  []string
	every time.Duration
	seed  uint64

	done  map[string]*tally
	wrote bool // a file of this window
}

// tally counts the work of one class.
type tally struct {
	took    []time.Duration
	failed  int64
	late    int64 // of those that failed
	example string
}

func newWorker(t *target.Target, work []string, o *Options) *worker {
	return &worker{
		Client: client.New(t, "soak"), work: work, every: min(workAtMost, o.Window/20), seed: o.Seed,
	}
}

// beside works until ctx ends and returns the ledger of its processes.
func (w *worker) beside(ctx context.Context, run string) bundle.LoadLedger {
	w.Run, w.Ledger, w.done, w.wrote = run, bundle.LoadLedger{}, map[string]*tally{}, false
	draw := rand.New(rand.NewPCG(w.seed, uint64(len(run)))) //nolint:gosec // the order of work is no secret
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for n := 0; len(w.work) > 0; n++ {
		select {
		case <-ctx.Done():
			w.clean()
			return w.Ledger
		case <-tick.C:
			w.do(w.work[n%len(w.work)], draw)
		}
	}
	<-ctx.Done()
	return w.Ledger
}

// do does one piece of work. It ends within its own limit, and not with the soak: a piece that is cut short would
// leave a process whose end nobody saw.
func (w *worker) do(class string, draw *rand.Rand) {
	t := w.done[class]
	if t == nil {
		t = &tally{}
		w.done[class] = t
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.Target.Scaled(workLimit))
	defer cancel()
	begun := time.Now()
	err := map[string]func(context.Context, *rand.Rand) error{
		workDeadline: w.deadline, workAttach: w.attach, workFiles: w.files,
	}[class](ctx, draw)
	if err != nil {
		if t.failed++; t.failed == 1 {
			t.example = w.Target.Redactor().Text(err.Error())
		}
		if late(err) || ctx.Err() != nil {
			t.late++
		}
		return
	}
	t.took = append(t.took, time.Since(begun))
}

// deadline wants a stream that its deadline ends. How the gateway counts its process is its own choice.
func (w *worker) deadline(ctx context.Context, _ *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, w.Target.Scaled(deadlineOf))
	defer cancel()
	begun := time.Now()
	stream, _, err := w.Start(ctx, "exec sleep 60", false)
	if err != nil {
		if connect.CodeOf(err) == connect.CodeDeadlineExceeded {
			return nil // a slow machine
		}
		return err
	}
	defer func() { _ = stream.Close() }()
	w.Ledger.Unseen, w.Ledger.HungUp = w.Ledger.Unseen+1, w.Ledger.HungUp+1
	for stream.Receive() {
		if e := stream.Msg().GetEvent().GetEnd(); e != nil && !e.GetExited() {
			break // it was killed, and said so before the error
		}
	}
	if took := time.Since(begun); took > w.Target.Scaled(deadlineLate) {
		return fmt.Errorf("%w: a deadline of %v ended the stream after %v", errLate, deadlineOf, took.Round(time.Millisecond))
	}
	if err := stream.Err(); err != nil && connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		return fmt.Errorf("a deadline ended the stream with %w", err)
	}
	return nil
}

// attach wants what a process prints at both of its clients, and still at the second when the first has gone.
func (w *worker) attach(ctx context.Context, draw *rand.Rand) error {
	away, leave := context.WithCancel(ctx)
	defer leave()
	first, pid, err := w.Start(away, `while read -r l; do case $l in quit) exit 0;; *) echo "$l";; esac; done`, true)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	// Whatever happens, it ends: by quit, or by the kill.
	w.Ledger.Unseen++
	err = w.share(ctx, pid, first, leave, draw)
	if err != nil {
		w.Ledger.HungUp++ // it may be killed
		_, _ = w.RPC.SendSignal(ctx, connect.NewRequest(&process.SendSignalRequest{Process: byPID(pid), Signal: process.Signal_SIGNAL_SIGKILL}))
	}
	return err
}

func byPID(pid uint32) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: pid}}
}

func (w *worker) share(ctx context.Context, pid uint32, first *client.Stream, leave func(), draw *rand.Rand) error {
	second, err := w.RPC.Connect(ctx, connect.NewRequest(&process.ConnectRequest{Process: byPID(pid)}))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = second.Close() }()
	for !second.Receive() || second.Msg().GetEvent().GetStart() == nil {
		if second.Err() != nil || second.Msg().GetEvent() == nil {
			return fmt.Errorf("connect: no start event: %w", second.Err())
		}
	}
	says := fmt.Sprintf("%016x\n", draw.Uint64())
	if err := w.input(ctx, pid, says); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		next func() *process.ProcessEvent
	}{{"first", following(first, (*process.StartResponse).GetEvent)}, {"second", following(second, (*process.ConnectResponse).GetEvent)}} {
		if got := output(c.next, len(says)); got != says {
			return fmt.Errorf("the %s client of a process got %q, want %q", c.name, got, says)
		}
	}
	leave()
	if err := w.input(ctx, pid, "still "+says+"quit\n"); err != nil {
		return err
	}
	next := following(second, (*process.ConnectResponse).GetEvent)
	if got := output(next, len(says)+6); got != "still "+says {
		return fmt.Errorf("the second client of a process got %q after the first had gone, want %q", got, "still "+says)
	}
	for e := next(); e != nil; e = next() {
		if end := e.GetEnd(); end != nil {
			if end.GetExitCode() != 0 || !end.GetExited() {
				return fmt.Errorf("the process ended with %v, want exit code 0", end)
			}
			return nil
		}
	}
	return fmt.Errorf("the second client of a process got no end event: %w", second.Err())
}

// following returns a function that returns the next event, nil at the end.
func following[M any](s *connect.ServerStreamForClient[M], of func(*M) *process.ProcessEvent) func() *process.ProcessEvent {
	return func() *process.ProcessEvent {
		if !s.Receive() {
			return nil
		}
		return of(s.Msg())
	}
}

// output reads so many bytes of stdout, or until the end.
func output(next func() *process.ProcessEvent, n int) string {
	var got []byte
	for len(got) < n {
		e := next()
		if e == nil || e.GetEnd() != nil {
			break
		}
		got = append(got, e.GetData().GetStdout()...)
	}
	return string(got)
}

func (w *worker) input(ctx context.Context, pid uint32, text string) error {
	_, err := w.RPC.SendInput(ctx, connect.NewRequest(&process.SendInputRequest{
		Process: byPID(pid), Input: &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte(text)}},
	}))
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	return nil
}

// file is the file that the soak writes again and again, relative to the home.
func (w *worker) file() string { return "assay-soak-" + w.Run }

// files uploads a file and wants the same bytes back.
func (w *worker) files(ctx context.Context, draw *rand.Rand) error {
	content := make([]byte, 1+draw.IntN(fileSize))
	for i := range content {
		content[i] = byte(draw.Uint32())
	}
	w.wrote = true
	if _, err := w.fetch(ctx, http.MethodPost, content); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	got, err := w.fetch(ctx, http.MethodGet, nil)
	switch {
	case err != nil:
		return fmt.Errorf("download: %w", err)
	case sha256.Sum256(got) != sha256.Sum256(content):
		return fmt.Errorf("download: %d bytes, with another digest than the %d that were uploaded", len(got), len(content))
	}
	return nil
}

func (w *worker) fetch(ctx context.Context, method string, body []byte) ([]byte, error) {
	return w.Do(ctx, method, w.URL("files", "")+"?path="+url.QueryEscape(w.file()), body, 4*fileSize)
}

// clean removes the file of the window.
func (w *worker) clean() {
	if !w.wrote {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), workLimit)
	defer cancel()
	stream, _, err := w.Start(ctx, "cd && rm -f "+w.file(), false)
	if err != nil {
		return
	}
	for stream.Receive() {
	}
	_ = stream.Close()
	w.Ledger.Unseen++
}

// results returns what was done in the window.
func (w *worker) results() map[string]bundle.SoakWork {
	if len(w.done) == 0 {
		return nil
	}
	out := map[string]bundle.SoakWork{}
	for class, t := range w.done {
		out[class] = bundle.SoakWork{Done: int64(len(t.took)) + t.failed, Failed: t.failed, Late: t.late, Latency: load.LatencyOf(t.took), Example: t.example}
	}
	return out
}

// listed returns the number of processes of the soak in List: those whose mark begins with one of the runs.
func (w *worker) listed(ctx context.Context, runs map[string]bool) (int, error) {
	r, err := w.RPC.List(ctx, connect.NewRequest(&process.ListRequest{}))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range r.Msg.GetProcesses() {
		run, _, _ := strings.Cut(p.GetConfig().GetEnvs()[call.Mark], "/")
		if runs[run] {
			n++
		}
	}
	return n, nil
}
