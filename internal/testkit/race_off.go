//go:build !race

package testkit

// Slowdown is the factor by which the race detector extends every deadline. Above 1, code also takes more memory.
const Slowdown = 1
