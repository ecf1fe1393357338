// Package ledger does exact accounting: the driver's own counts (started, ended, killed,
// still open), the counters of the target's metric exposition, and the invariants between
// the two.
//
// It is pure: it reads observations and bytes, never a network or a clock. The runner
// scrapes, and internal/judge decides what a broken invariant means for a rule.
package ledger
