package load

import (
	"context"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
)

// beside starts what runs beside the streams. The function that it returns ends it and returns
// its ledger.
func (s *session) beside(ctx context.Context) (end func() bundle.LoadLedger) {
	if s.opts.Beside == nil {
		return func() bundle.LoadLedger { return bundle.LoadLedger{} }
	}
	ctx, stop := context.WithCancel(ctx)
	ledger := make(chan bundle.LoadLedger, 1)
	crash.Go(func() {
		ledger <- s.opts.Beside(ctx, s.plan.Classes[0].Dialect.Run)
	})
	return func() bundle.LoadLedger {
		stop()
		return <-ledger
	}
}

// Sum adds two ledgers.
func Sum(a, b bundle.LoadLedger) bundle.LoadLedger {
	return bundle.LoadLedger{
		Started: a.Started + b.Started, OK: a.OK + b.OK, Error: a.Error + b.Error, Killed: a.Killed + b.Killed,
		Open: a.Open + b.Open, Unseen: a.Unseen + b.Unseen, HungUp: a.HungUp + b.HungUp, Uncertain: a.Uncertain + b.Uncertain,
	}
}
