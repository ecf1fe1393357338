//go:build race

package main

// slowdown is by how much the race detector stretches every deadline.
const slowdown = 5
