// Package inject injects faults into a soak, from the side of the clients: connections that are reset, that hang half
// open, or that read slowly, bursts, and a proxy in front of the target that delays, cuts and splits what passes. After
// each fault it measures how long the service takes to be as before.
//
// What belongs here: the kinds of faults, their clients, the proxy, and the probe. What does not: anything that is done to
// the target itself, and what a fault means for the verdict (package soak). Every fault is bounded, ends with its context,
// and leaves no connection behind; its commands end by themselves.
package inject
