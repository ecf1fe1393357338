package soak

import (
	"context"
	"fmt"
	"time"

	"assay/internal/base/crash"
	"assay/internal/load"
	"assay/internal/record/bundle"
)

// beside works and injects the faults of a window until ctx ends, and returns the ledger of both. No fault is injected
// in the warm-up, so that there is something to compare with.
func (s *soak) beside(ctx context.Context, index int, length time.Duration, run string) bundle.LoadLedger {
	s.runs[run] = true
	s.faults = nil
	if s.injector == nil || s.elapsed() < s.opts.Warmup {
		return s.worker.beside(ctx, run)
	}
	ended := make(chan bundle.LoadLedger, 1)
	crash.Go(func() {
		faults, ledger := s.injector.During(ctx, index, length, run)
		s.faults = faults
		ended <- ledger
	})
	own := s.worker.beside(ctx, run)
	return load.Sum(own, <-ended)
}

// blameFaults records the faults of a window. Streams that failed in a window in which a fault can end them are
// hurt by the fault, and no loss: the fault goes through the connections of all of them.
func (s *soak) blameFaults(w *bundle.SoakWindow, faults []bundle.SoakInjection) {
	for _, f := range faults {
		f.FromMS += w.FromMS
		f.ToMS += w.FromMS
		if f.Cuts && w.Hurt == 0 {
			f.Hurt = w.Streams.Outcomes.Failed()
			w.Hurt = f.Hurt
		}
		w.Injections = append(w.Injections, f)
	}
	if w.Hurt == 0 || w.Verdict != bundle.LoadFail || failedWork(w) > 0 {
		return
	}
	w.Verdict, w.Message = bundle.LoadPass, fmt.Sprintf("%d streams were ended by the injected faults", w.Hurt)
}

// cuts reports whether a fault of a window ends streams.
func cuts(w *bundle.SoakWindow) bool {
	for _, f := range w.Injections {
		if f.Cuts {
			return true
		}
	}
	return false
}

func failedWork(w *bundle.SoakWindow) (n int64) {
	for _, one := range w.Work {
		n += one.Failed
	}
	return n
}
