// Package virtual is a sandbox inside this process: a process table, an in-memory file system, a POSIX shell and a handful of utilities.
//
// What lives here: [System] (one sandbox), [Process] (one command in it), files, pipes and terminals in memory, signals, the shell and the programs.
// What may not: anything that touches the machine. No program of the host is run, no file, environment variable or pid of the host is read;
// an idle process holds a goroutine and no file descriptor. Nothing here knows of a network, a protocol or a gateway.
//
// The shell stands on the parser and the word expansion of mvdan.cc/sh/v3; processes, descriptors, signals, traps and jobs are this package's own,
// because they must be the sandbox's and not the host's. Its semantics are dash's:
//
//   - A signal reaches exactly one process. A shell without a trap for it dies at once; what it ran in the foreground or with & lives on and
//     keeps holding the output. The last command of sh -c replaces the shell, as in bash and unlike in dash 0.5.12, so there the signal ends the
//     command itself.
//   - A trap runs when the foreground command has ended. wait and read are interrupted by a signal that has a trap.
//   - A child that ended by signal n has status 128+n.
//   - echo interprets backslash escapes and knows only -n, as in dash. As bash, and as the program /bin/echo, it prints them as they are and knows -n, -e and -E.
//
// A terminal (Spec.PTY) has Linux's line discipline in front of it: canonical and raw mode, editing, echo, CRLF, signals from keys, ^S and ^Q,
// the window's size, hangup; stty and tty know it. A shell on it prompts, controls jobs and survives ^C. A second package, osproc, runs the
// same Specs as real processes, and a table of scripts holds the two against each other.
//
// Known differences from a terminal of Linux: nothing is ever stopped, so ^Z does nothing, and a background job that reads the terminal waits
// for ever; ^C takes no output back that was on its way; bash edits no lines, the terminal does.
//
// Known differences from dash: printf also knows \xHH; empty fields between characters of IFS that are no blanks are lost; text of syntax errors;
// no fg, bg, aliases, getopts or times; a script that is more than one plain command must be valid UTF-8 (its data need not be); SIGSTOP and its kin are ignored; the access bits other than the executable one mean nothing.
//
// As bash it also knows [[ ]], (( )), for ((;;)), brace expansion, $'…', <<<, &> and pipefail; there are no arrays.
package virtual
