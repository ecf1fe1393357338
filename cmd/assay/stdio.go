package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

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

// terminal reports whether w is a terminal, and its width.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
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
