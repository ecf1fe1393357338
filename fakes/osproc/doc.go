// Package osproc runs real processes behind the shape of package virtual: the same Spec, the same errors, the same promises about output,
// signals and stdin, so that a gateway can be given either.
//
// What lives here: starting a process on pipes or on a pseudo-terminal, its output to the last byte, its end, and the end of all.
// What may not: a shell, a utility, an opinion about what is run. Nothing here knows of a network, a protocol or a gateway.
//
// Every process leads a session of its own, with a terminal or without. A signal reaches just this process; [System.KillAll] reaches all
// that have not left the session (setsid), also those that the process left behind. Every process is waited for.
//
// Where a real process cannot be had:
//
//   - A command that is not found, or cannot be run, is found out before there is a process. Then /bin/sh says so in its place, as a real
//     process with a pid, and ends with 127 or 126.
//   - A script without #! is run by /bin/sh, as any shell does.
//   - A signal that this program was started with as ignored, or ignores, would be ignored by what it starts. Therefore it is caught and
//     dropped instead, which is the same for this program and gives its children the default.
package osproc
