// Package ledger is exact accounting: what the driver itself did (started,
// ended, killed, still open), what the target's metric exposition says, and the
// invariants that hold between the two.
//
// It is pure: it reads observations and bytes, never a network or a clock. The
// scrape itself is done by whoever runs, and what a broken invariant means for
// a rule is decided in internal/judge.
package ledger
