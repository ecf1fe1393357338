package fakes

import (
	"net"
	"net/http"

	"assay/fakes/strict"
)

// seams are the places where a decorator changes what the gateway does, for
// every request that passes. The zero value changes nothing. Each adder puts a
// decorator around those that are there already, so several can be composed.
type seams struct {
	conn   func(net.Conn) net.Conn           // bytes of a connection
	front  func(http.Handler) http.Handler   // requests as they come, and the heads of their answers
	events func(eventSink) eventSink         // events of a process on their way to one Connect stream
	output func(output) output               // what a process writes, before it is handed out
	stdin  func(stdinPump) stdinPump         // input on its way to a process
	exit   func(exitPath, counters) exitPath // how an end is told
	table  func(processTable) processTable   // the processes as the surfaces see them
	count  func(counters) counters           // the books
	tally  func(tally) tally                 // the books as they are read
	clock  func(clock) clock                 // the gateway's own timers
	json   func(jsonStyle) jsonStyle         // how JSON messages are written and read
	errors func(error) error                 // errors of the process service
	gone   func(processTable, *process)      // what happens when a client breaks off its Start; nil: nothing
	spares func(protocol string) bool        // whether a deadline leaves the process of a call alone; nil: never
	// mute are the Starts of which nobody is told anything; nil: none.
	mute *share
	// expiredStarts are the streams with a deadline that has passed whose start event
	// comes all the same; nil: none.
	expiredStarts *share
	// metrics serves /metrics instead of the exposition of the books; nil: nothing.
	metrics func(http.ResponseWriter, *http.Request) error

	// Behaviour that is chosen, not decorated.
	policy    strict.Policy
	hubs      hubPolicy
	without   absent
	processes processPolicy
	kept      keptPolicy
	pids      uint32 // the first pid; 0 is the sandbox's default
	// compressFrom is the size of a message from which on it is compressed.
	compressFrom int

	// crash ends the gateway as a whole; set when it starts.
	crash func()
}

// absent are surfaces that a gateway does not have.
type absent struct{ commands, probe, metrics, closeStdin bool }

// around composes two decorators of one seam: outer sees what inner does.
func around[T any](inner, outer func(T) T) func(T) T {
	if inner == nil {
		return outer
	}
	return func(t T) T { return outer(inner(t)) }
}

// apply runs a decorator that may be nil.
func apply[T any](decorate func(T) T, t T) T {
	if decorate == nil {
		return t
	}
	return decorate(t)
}

// aroundExit composes two decorators of the exit path.
func aroundExit(inner, outer func(exitPath, counters) exitPath) func(exitPath, counters) exitPath {
	if inner == nil {
		return outer
	}
	return func(e exitPath, c counters) exitPath { return outer(inner(e, c), c) }
}
