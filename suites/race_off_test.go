//go:build !race

package suites

// slowdown is the factor by which the race detector extends every deadline.
const slowdown = 1
