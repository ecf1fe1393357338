package load

import (
	"context"
	"fmt"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// Fleet has worker processes, here or on other machines, that share the plan of a run.
type Fleet interface {
	// Local says that the workers are processes on this machine.
	Local() bool
	// Gather waits until all workers of an order are ready. Its errors name who is missing, or why the bus is not
	// there. The end of ctx is an error.
	Gather(ctx context.Context, o Order) (Crew, error)
}

// Order is what a run wants of a fleet.
type Order struct {
	// Job is for all workers, and Job.Parts their number.
	Job Job
	// Target and Sandboxes have the secrets. Only workers on this machine get them, and not over the bus.
	Target    target.Options
	Sandboxes []target.Options
	// Limits are the deadlines of the plan.
	Limits Limits
	// Pause stops the workers for a time; nil is no pause.
	Pause *Pause
	// Memo is for a coordinator that resumes the run: see Resumed.
	Memo []byte
}

// Crew is the workers of one run. As an Engine, it runs their parts, and gives their windows to the sink, which must be a
// [Merger].
type Crew interface {
	Engine
	// Begin tells the workers when to begin, soon, and returns that time.
	Begin(ctx context.Context) (time.Time, error)
	// Members describes the workers: who they are and, after Run, what became of them.
	Members() []bundle.LoadWorker
	// Costs returns the processor time in seconds and the peak memory in bytes of all workers, after Run.
	Costs() (cpu float64, rss int64)
	// Aborted says why a lost worker ended the run; "" if none did.
	Aborted() string
	// Close ends the workers.
	Close()
}

// muster gathers the workers of the run, if it has any.
func (s *session) muster(ctx context.Context) error {
	if s.needs.processes <= 1 && s.opts.Workers == 0 && s.opts.Pause == nil {
		return nil
	}
	crew, err := s.opts.Fleet.Gather(ctx, Order{
		Job: s.job(s.needs.processes), Target: s.fullTarget, Sandboxes: s.fullBoxes, Limits: s.plan.Limits, Pause: s.opts.Pause,
		Memo: s.memo(),
	})
	if err != nil {
		return err
	}
	s.crew, s.engine = crew, crew
	return nil
}

// lost returns the numbers of the workers that were lost in this run, and not in an earlier one of the same crew.
func (s *session) lost() (all []int) {
	if s.crew == nil {
		return nil
	}
	for _, w := range s.crew.Members() {
		if w.Lost != "" && w.LostMS > 0 {
			all = append(all, w.Shard)
		}
	}
	return all
}

// uncounted is the note of a comparison after a worker was lost.
const uncounted = "a worker was lost, and what it started after its last window is not known"

// bury kills the processes that lost workers left behind, and notes that the counters cannot be compared.
func (s *session) bury() {
	lost := s.lost()
	if len(lost) == 0 {
		return
	}
	s.sink.Swept(s.plan.sweep(lost))
	s.watch.doubt(uncounted)
}

// sweep kills the processes of some parts of the plan, and returns how many there were.
func (p *Plan) sweep(parts []int) int {
	ctx, stop := context.WithTimeout(context.Background(), p.Limits.Ending(true))
	defer stop()
	client := p.client(p.Limits.Ending(true))
	defer client.CloseIdleConnections()
	killed := map[string]bool{}
	for n := range len(p.Classes) * p.Boxes() * len(parts) {
		box, class := n/len(parts)%p.Boxes(), n/len(parts)/p.Boxes()
		d := p.Classes[class].Dialect.In(p, box)
		d.Part = parts[n%len(parts)]
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
				killed[fmt.Sprint(box, "/", pid)] = true
			}
		}
	}
	return len(killed)
}
