package suites

import (
	"fmt"

	"assay/internal/base/machine"
)

// The file descriptors of a run: those of the program itself, those of the scenario of the
// catalogue with the most connections, and those of each concurrent scenario and the waiting one beside it.
const (
	ownFiles    = 24
	oneScenario = 48
	eachJob     = 12
)

// filesFor returns the number of descriptors that a run needs. The embedded gateway has the
// other ends of all connections.
func filesFor(jobs int, embedded bool) int {
	conns := oneScenario + eachJob*jobs
	if embedded {
		conns *= 2
	}
	return ownFiles + conns
}

// fitJobs returns the largest number of jobs, up to jobs, whose descriptors this process may
// have. limit 0 is unlimited. The error is a *machine.LimitError if not even one fits.
func fitJobs(jobs, limit int, embedded bool) (int, error) {
	for n := jobs; n >= 1; n-- {
		if limit == 0 || filesFor(n, embedded) <= limit {
			return n, nil
		}
	}
	return 0, &machine.LimitError{
		What: fmt.Sprintf("a run needs %d file descriptors: this process may have %d", filesFor(1, embedded), limit),
		Mend: fmt.Sprintf("raise the limit: ulimit -n %d", filesFor(jobs, embedded)),
	}
}

// fit lowers the number of jobs to what this machine allows.
func (s *session) fit() error {
	limit, _ := machine.Descriptors()
	jobs, err := fitJobs(s.opts.Jobs, limit, s.opts.Target.URL == "")
	if err != nil {
		return err
	}
	if jobs < s.opts.Jobs {
		s.notes = append(s.notes, fmt.Sprintf("with %d file descriptors, %d scenarios ran at a time instead of %d: ulimit -n %d allows all",
			limit, jobs, s.opts.Jobs, filesFor(s.opts.Jobs, s.opts.Target.URL == "")))
		s.opts.Jobs = jobs
	}
	return nil
}
