//go:build !race

package main

// slowdown is the factor by which the race detector extends every deadline.
const slowdown = 1
