//go:build !race

package suites

// slowdown is by how much the race detector stretches every deadline.
const slowdown = 1
