// Package osproc runs real processes with the interface of package virtual: the same Spec, errors and guarantees about output, signals and
// stdin, so that a gateway can use either.
//
// It starts processes on pipes or on a pseudo-terminal, delivers their output to the last byte, reports their end, and can kill all of them.
// It has no shell, no utilities, and no code for networks, protocols or gateways.
//
// It exists on Unix only: elsewhere the package is empty.
//
// Every process leads its own session, with or without a terminal. A signal reaches only this process; [System.KillAll] reaches all processes
// that have not left the session (setsid), including those that outlive the leader. Every process is waited for.
//
// Special cases:
//
//   - A missing or unrunnable command is detected before the process exists. /bin/sh then prints the error in its place, as a real process
//     with a pid, and exits with 127 or 126.
//   - /bin/sh runs a script without #!, as any shell does.
//   - Children would inherit signals that this program ignores. It catches and drops them instead, which has the same effect for this program
//     and gives its children the default.
package osproc
