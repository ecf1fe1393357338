package load

import (
	"fmt"
	"strconv"

	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
)

// audit compares the counters before and after a run with its ledger. It is pure. foreign
// is a note that processes of others explain the violations, which then prove nothing.
func audit(before, after ledger.Counters, own bundle.LoadLedger) (violations []string, foreign string) {
	diff := ledger.Diff(before, after)
	violations = append(violations, ledger.Monotone(before, after)...)
	slack, unseen, hungUp := float64(own.Uncertain), float64(own.Unseen), float64(own.HungUp)
	within := func(key string, got float64, want int64, more float64) {
		if got < float64(want) || got > float64(want)+more {
			violations = append(violations, fmt.Sprintf("%s moved by %s, the driver's ledger says %s", key, ledger.Number(got), expected(want, more)))
		}
	}
	within(ledger.KeyStarted, diff.Started, own.Started, slack)
	within(ledger.KeyOK, diff.OK, own.OK, unseen+slack)
	within(ledger.KeyError, diff.Error, own.Error, unseen+slack)
	if sum := own.OK + own.Error + own.Unseen - own.Uncertain; own.Unseen > own.HungUp { // each of them counts as ok or as error
		within(ledger.KeyOK+" and "+ledger.KeyError, diff.OK+diff.Error, max(sum-own.HungUp, 0), hungUp+2*slack)
	}
	within(ledger.KeyKilled, diff.Killed, own.Killed, hungUp+slack)
	if own.HungUp > 0 {
		within(ledger.KeyOK+", "+ledger.KeyError+" and "+ledger.KeyKilled, diff.OK+diff.Error+diff.Killed,
			max(own.OK+own.Error+own.Killed+own.Unseen-own.Uncertain, 0), 2*slack)
	}
	within(ledger.KeyActive, diff.Active, 0, float64(own.Open)+slack)
	partition := ledger.Partition(diff, 0)
	if partition != "" {
		violations = append(violations, "after the run the differences do not add up: "+partition)
	}
	if len(violations) > 0 && partition == "" {
		foreign = byOthers(before, diff, own)
	}
	return violations, foreign
}

// byOthers explains differences by processes of others, or returns "": no counter moved
// less than the ledger says, and no more processes of others ended than ran before the run
// or started during it.
func byOthers(before, diff ledger.Counters, own bundle.LoadLedger) string {
	slack, unseen, hungUp := float64(own.Uncertain), float64(own.Unseen), float64(own.HungUp)
	less := diff.OK+diff.Error < float64(own.OK+own.Error+own.Unseen-own.HungUp-own.Uncertain) ||
		diff.OK+diff.Error+diff.Killed < float64(own.OK+own.Error+own.Killed+own.Unseen-own.Uncertain)
	more := func(got float64, want int64, slack float64) float64 {
		less = less || got < float64(want)
		return max(got-float64(want)-slack, 0)
	}
	started := more(diff.Started, own.Started, slack)
	ended := more(diff.OK, own.OK, unseen+slack) + more(diff.Error, own.Error, unseen+slack) + more(diff.Killed, own.Killed, hungUp+slack)
	if there := max(before.Active, 0); less || there+started == 0 || ended > there+started {
		return ""
	}
	return fmt.Sprintf("foreign traffic: %s of others ran before the run, %s started and %s ended during it",
		plural(int(before.Active), "process", "processes"), ledger.Number(started), ledger.Number(ended))
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
