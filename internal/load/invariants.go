package load

import (
	"fmt"
	"strconv"

	"assay/internal/bundle"
	"assay/internal/ledger"
)

// audit compares the counters before and after a run with its ledger. It is pure. foreign
// is a note that there was other traffic on the target; then the violations prove nothing.
func audit(before, after ledger.Counters, own bundle.LoadLedger) (violations []string, foreign string) {
	diff := ledger.Diff(before, after)
	violations = append(violations, ledger.Monotone(before, after)...)
	slack, unseen := float64(own.Uncertain), float64(own.Unseen)
	within := func(key string, got float64, want int64, more float64) {
		if got < float64(want) || got > float64(want)+more {
			violations = append(violations, fmt.Sprintf("%s moved by %s, the driver's ledger says %s", key, ledger.Number(got), expected(want, more)))
		}
	}
	within(ledger.KeyStarted, diff.Started, own.Started, slack)
	within(ledger.KeyOK, diff.OK, own.OK, unseen+slack)
	within(ledger.KeyError, diff.Error, own.Error, unseen+slack)
	if own.Unseen > 0 { // each of them counts as ok or as error
		within(ledger.KeyOK+" and "+ledger.KeyError, diff.OK+diff.Error, max(own.OK+own.Error+own.Unseen-own.Uncertain, 0), 2*slack)
	}
	within(ledger.KeyKilled, diff.Killed, own.Killed, slack)
	within(ledger.KeyActive, diff.Active, 0, float64(own.Open)+slack)
	partition := ledger.Partition(diff, 0)
	if partition != "" {
		violations = append(violations, "after the run the differences do not add up: "+partition)
	}
	if extra := diff.Started - float64(own.Started) - slack; extra > 0 && partition == "" && len(violations) > 0 {
		foreign = fmt.Sprintf("foreign traffic: started moved by %s, this driver started %d", ledger.Number(diff.Started), own.Started)
	}
	return violations, foreign
}

func expected(want int64, more float64) string {
	if more == 0 {
		return strconv.FormatInt(want, 10)
	}
	return fmt.Sprintf("%d to %s", want, ledger.Number(float64(want)+more))
}

// auditDuring checks a scrape during a run against the one before.
func auditDuring(earlier, now ledger.Counters, inFlight int) (violations []string) {
	violations = append(violations, ledger.Monotone(earlier, now)...)
	if p := ledger.Partition(now, inFlight); p != "" {
		violations = append(violations, fmt.Sprintf("with %d in flight: %s", inFlight, p))
	}
	return violations
}

// agrees reports whether the counters agree with the ledger.
func agrees(before, after ledger.Counters, own bundle.LoadLedger) bool {
	v, _ := audit(before, after, own)
	return len(v) == 0
}
