package main

import (
	"io"
	"os"
	"strings"
	"sync/atomic"

	"assay/internal/base/secret"
)

// guard overwrites the secrets of a run in everything that the program writes. Records and
// messages have none (see package transport): it stands behind them for what they overlook. A
// nil guard, and one before hide, changes nothing.
type guard struct {
	redactor atomic.Pointer[secret.Redactor]
}

// hide sets the secrets of the run.
func (g *guard) hide(secrets []string) {
	if g != nil {
		g.redactor.Store(secret.New(unmistakable(secrets)))
	}
}

func (g *guard) clean(p []byte) []byte {
	if g == nil {
		return p
	}
	return g.redactor.Load().Bytes(p)
}

// writer returns a writer of clean bytes. Each write is cleaned alone.
func (g *guard) writer(f *os.File) io.Writer { return guarded{f, g} }

// unmistakable returns the secrets that are no words: overwriting "conformant" or "secret" would
// make a report unreadable for programs.
func unmistakable(secrets []string) []string {
	var out []string
	for _, s := range secrets {
		word := !strings.ContainsAny(s, "0123456789") && strings.ToLower(s) == s
		if len(s) >= 16 || len(s) >= 8 && !word {
			out = append(out, s)
		}
	}
	return out
}

// guarded is a file with a guard. The file is no embedded field: its other methods would bypass
// Write.
type guarded struct {
	file  *os.File
	guard *guard
}

// Write writes p without secrets.
func (w guarded) Write(p []byte) (int, error) { return w.file.Write(w.guard.clean(p)) }

// Fd returns the descriptor, for terminal.
func (w guarded) Fd() uintptr { return w.file.Fd() }

// unguarded returns the file of a guarded writer, for what must write to the terminal itself:
// progress bars, which show only scenarios and figures, and programs that the user starts.
func unguarded(w io.Writer) io.Writer {
	if g, ok := w.(guarded); ok {
		return g.file
	}
	return w
}
