// Package virtual is a sandbox inside this process: a process table, an in-memory file system, a POSIX shell and a handful of utilities.
//
// It has [System] (one sandbox), [Process] (one command in it), files, pipes and terminals in memory, signals, the shell and the programs. It never
// accesses the machine: it runs no program and reads no file, environment variable or pid of the host. An idle process holds a goroutine and no file
// descriptor. It has no code for networks, protocols or gateways.
//
// The shell uses the parser and the word expansion of mvdan.cc/sh/v3; processes, descriptors, signals, traps and jobs are implemented here, because they
// must belong to the sandbox and not to the host. Its semantics are dash's:
//
//   - A signal reaches exactly one process. A shell without a trap for it dies at once; its foreground and background children continue and
//     hold the output. The last command of sh -c replaces the shell, as in bash and unlike in dash 0.5.12, so there the signal ends the command
//     itself.
//   - A trap runs when the foreground command has ended. A signal with a trap interrupts wait and read.
//   - A child killed by signal n has status 128+n.
//   - echo interprets backslash escapes and supports only -n, as in dash. In bash, and as the program /bin/echo, it prints them unchanged and supports -n, -e and -E.
//
// A terminal (Spec.PTY) has Linux's line discipline: canonical and raw mode, editing, echo, CRLF, signals from keys, ^S and ^Q, window size; stty
// and tty support it. A shell on it prompts, controls jobs and survives ^C. Package osproc runs the same Specs as real processes, and a table of scripts
// compares the two.
//
// A command has at most 256 processes, and a value of a shell 32 MiB; the contents of all files have 128 MB. While the heap of this process, without
// garbage, is larger than 4 GiB, nothing starts, and no command goes on. A shell out of memory prints "Out of space" and exits with 2.
//
// Known differences from a Linux terminal: stty knows the size, raw, sane and the modes that it lists, and no keys; processes never stop, so ^Z does nothing, and a background job that reads the terminal waits forever; ^C does
// not discard pending output; the terminal, not bash, edits lines.
//
// Known differences from dash: ${x%pattern} with a quoted * or a newline in the pattern; printf also supports \xHH; empty fields between non-blank
// characters of IFS are lost; text of syntax errors; no fg, bg, aliases, getopts or times; a script must be valid UTF-8 (its data need not be); stop signals such as SIGSTOP are ignored; access bits other than the executable one have no effect.
//
// A shell that becomes itself by exec does so at most 400 times.
//
// As bash it also supports [[ ]], (( )), for ((;;)), brace expansion, $'…', <<<, &> and pipefail, but no arrays.
package virtual
