// Package history says what changed over many runs: which rule is broken since which run, which rules are flaky, and with
// which run a latency rose.
//
// What belongs here: finding bundles, their figures, the index over them, change points, retention. What does not: the
// files of a bundle (package bundle), rendering (reports), and how figures are sent elsewhere (package push). The bundles
// are the truth: the index is a cache, and is built again whenever it does not fit.
package history
