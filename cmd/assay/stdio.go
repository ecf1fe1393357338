package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/term"

	"assay/reports"
)

// stdio is where a command reads and writes: stdout is data, stderr is
// progress and messages.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// errorf writes to stderr; what cannot be written there has nowhere else to go.
func (s stdio) errorf(format string, args ...any) { _, _ = fmt.Fprintf(s.err, format, args...) }

// printf writes to stdout.
func (s stdio) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format, args...)
	return err
}

// output is the program's stdout. Once its reader has gone (`assay list | head`),
// what is written to it is dropped without an error: nobody wants it, and the exit code
// is that of the run all the same. Every other failure to write is one.
type output struct {
	*os.File
	gone    bool
	written bool
}

// Write writes to stdout.
func (o *output) Write(p []byte) (int, error) {
	if o.gone {
		return len(p), nil
	}
	o.written = true
	n, err := o.File.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.gone = true
		return len(p), nil
	}
	if err != nil {
		err = defect(fmt.Errorf("stdout: %w", err))
	}
	return n, err
}

// terminal reports whether w is a terminal, and its width.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(interface{ Fd() uintptr })
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return width, true
}

// style is how reports are drawn on w: as wide as the terminal, or COLUMNS, or
// 80, within 60 and 200; in colour on a terminal unless NO_COLOR is set.
func style(w io.Writer, verbose bool) reports.Style {
	width, tty := terminal(w)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	if width == 0 {
		width = 80
	}
	return reports.Style{
		Width: min(max(width, 60), 200), Verbose: verbose,
		Color: tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// excerptWidth is the room of a transcript below the place that it belongs to.
func excerptWidth(io stdio) int { return style(io.out, false).Width - 4 }
