package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/crash"
	"assay/internal/machine"
)

// errNoSink is the error of a split run whose sink is not a collector.
var errNoSink = errors.New("a run that is split among processes needs the collector of its session")

// split is the engine of a plan that needs more descriptors than a process may have. It
// shares the plan among worker processes, each of which runs the engine inside, and adds up
// their reports.
type split struct {
	worker []string // the command line of a worker process
	inside Engine
	job    job // for all of them
	parts  int
	pause  *Pause // nil: none
	costs  *costs
}

// costs are the processor time and memory of the worker processes.
type costs struct {
	mu  sync.Mutex
	cpu float64
	rss int64
}

var _ Engine = (*split)(nil)

// Name returns the name of the engine inside.
func (e *split) Name() string { return e.inside.Name() }

// Run works as Engine.Run says.
func (e *split) Run(ctx context.Context, p *Plan, s Sink) error {
	c, ok := s.(*collector)
	if !ok {
		return errNoSink
	}
	workers := make([]*worker, 0, e.parts)
	defer func() {
		for _, w := range workers {
			w.end()
		}
	}()
	for i := range e.parts {
		w, err := e.start(i)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		err := w.ready(ctx)
		if ctx.Err() != nil {
			for _, w := range workers {
				w.kill() // interrupted before anything began
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if e.pause != nil {
		pausing, over := context.WithCancel(ctx)
		wait := e.pause.pause(pausing, workers)
		defer func() { over(); wait() }() // before they are ended
	}
	failures := make(chan error, len(workers))
	for _, w := range workers {
		go func() {
			defer crash.Catch()
			failures <- w.follow(ctx, c, p.Limits)
		}()
	}
	var all []error
	for range workers {
		err := <-failures
		if err != nil {
			stop() // the others alone are not the planned load
		}
		all = append(all, err)
	}
	for _, w := range workers {
		e.costs.mu.Lock()
		e.costs.cpu += w.last.CPU
		e.costs.rss += w.last.RSS
		e.costs.mu.Unlock()
	}
	err := errors.Join(all...)
	if err != nil {
		e.clean(p, s)
	}
	return err
}

// clean kills the processes that the workers left behind, after one of them has failed.
func (e *split) clean(p *Plan, s Sink) {
	ctx, stop := context.WithTimeout(context.Background(), p.Limits.Ending(true)/10)
	defer stop()
	client := p.client(p.Limits.Ending(true) / 10)
	defer client.CloseIdleConnections()
	type process struct {
		box int
		pid uint32
	}
	killed := map[process]bool{}
	for n := range len(p.Mix()) * p.Boxes() {
		box := n % p.Boxes()
		d := p.Mix()[n/p.Boxes()].Dialect.In(p, box)
		d.Part = EveryPart
		list, err := d.List()
		if err != nil {
			continue
		}
		message, err := d.call(ctx, client, p, list)
		if err != nil {
			continue
		}
		ours, _ := d.Listed(message)
		for _, pid := range ours {
			kill, err := d.Kill(pid)
			if err == nil {
				_, err = d.call(ctx, client, p, kill)
			}
			if err == nil {
				killed[process{box, pid}] = true
			}
		}
	}
	s.Swept(len(killed))
}

// worker is one worker process.
type worker struct {
	number, of int
	cmd        *exec.Cmd
	in         io.WriteCloser // closing it ends the work
	out        *json.Decoder
	last       said
	once       sync.Once
}

func (e *split) start(i int) (*worker, error) {
	cmd := exec.Command(e.worker[0], e.worker[1:]...) //nolint:gosec,noctx // this program itself; end ends it
	cmd.SysProcAttr = machine.OwnGroup()              // this process passes on an interrupt from the terminal
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("worker process %d: %w", i, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("worker process %d: %w", i, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("worker process %d: %w", i, err)
	}
	w := &worker{number: i, of: e.parts, cmd: cmd, in: in, out: json.NewDecoder(bufio.NewReaderSize(out, 64<<10))}
	own := e.job
	own.Part, own.Parts, own.Engine = i, e.parts, e.inside.Name()
	if err := json.NewEncoder(in).Encode(own); err != nil {
		w.end()
		return nil, w.failure(err)
	}
	return w, nil
}

// ready waits until the worker is ready to begin. The end of ctx kills it.
func (w *worker) ready(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	if err := w.out.Decode(&w.last); err != nil {
		return w.failure(err)
	}
	if w.last.Error != "" {
		return w.failure(errors.New(w.last.Error))
	}
	return nil
}

func (w *worker) failure(err error) error {
	return fmt.Errorf("worker process %d of %d: %w", w.number+1, w.of, err)
}

// follow makes the worker begin, and adds up its reports until it is done.
func (w *worker) follow(ctx context.Context, c *collector, l Limits) error {
	defer w.end()
	if _, err := io.WriteString(w.in, goAhead); err != nil {
		return w.failure(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = w.in.Close() })
	defer stop()
	// A worker that does not end within workerShare is killed. The last tenth of the time
	// is for clean.
	patience := context.AfterFunc(ctx, func() { time.AfterFunc(l.Ending(true)*9/10, w.kill) })
	defer patience()
	for {
		var now said
		if err := w.out.Decode(&now); err != nil {
			return w.failure(err)
		}
		c.absorb(w.last.Tally, now.Tally)
		for _, v := range now.Values {
			h, err := hdrhistogram.Decode(v.Histogram)
			if err == nil && (int(v.Metric) >= numMetrics || v.Class < 0 || v.Class >= len(c.classes)) {
				err = fmt.Errorf("there is no measure %d of class %d", v.Metric, v.Class)
			}
			if err != nil {
				return w.failure(fmt.Errorf("measured values are not readable: %w", err))
			}
			c.hist.add(v.Class, v.Metric, h)
		}
		w.last = now
		if now.Refused != "" {
			c.refuse(now.Refused)
		}
		if now.Error != "" {
			return w.failure(errors.New(now.Error))
		}
		if now.Done {
			c.exemplify(now.Examples, w.number, w.of)
			return nil
		}
	}
}

func (w *worker) kill() { _ = w.cmd.Process.Kill() }

// end closes the input of the worker, and kills it if it does not end in time.
func (w *worker) end() {
	w.once.Do(func() {
		_ = w.in.Close()
		force := time.AfterFunc(killWorkerAfter, w.kill)
		_ = w.cmd.Wait()
		force.Stop()
	})
}

// workerShare returns how much of the time after an interrupt a worker may take.
func workerShare(l *Limits) time.Duration { return l.Ending(true) * 4 / 5 }

// killWorkerAfter is how long a worker may take to exit after its last report.
const killWorkerAfter = 5 * time.Second
