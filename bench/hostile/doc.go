// Command hostile runs the program against every server of fakes/hostile, and prints a
// table: layer, mode, command, exit code, verdict, seconds, CPU seconds and peak memory.
//
// It fails when a run breaks a limit: it takes too long or too much memory, crashes,
// leaves control characters in its output, finds nothing wrong with a gateway that is
// wrong, or blames a right one. The first mode is the reference gateway: on a busy machine,
// its time says what the others are worth. Everything stays on 127.0.0.1; a run that is far
// over a limit is killed.
package main
