package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/internal/base/termsafe"
	"assay/reports"
)

// stdio holds the streams of a command: stdout is for data, stderr for progress and
// messages. Both escape what a terminal would obey, because targets, files and names are in
// most texts. Written to out.To and err.To, below the escaping, are only formats of
// machines, the drawings of package reports, which escape their text themselves, and what
// moves the cursor.
type stdio struct {
	in       io.Reader
	out, err termsafe.Writer
	guard    *guard // in front of out and err
	farewell *farewell
	takeover *takeover
	quiet    bool // no progress and no notes on err
}

// quietFlag is --quiet of the commands that take long.
type quietFlag bool

func (q *quietFlag) register(c *cobra.Command) {
	c.Flags().BoolVarP((*bool)(q), "quiet", "q", false, "no progress and no notes on stderr; warnings and errors stay")
}

// quieted returns the streams of a command with --quiet.
func (s stdio) quieted(q quietFlag) stdio {
	s.quiet = bool(q)
	return s
}

// progress returns the streams for progress and details of a run.
func (s stdio) progress() stdio {
	if s.quiet {
		s.err = termsafe.Writer{To: io.Discard}
	}
	return s
}

// notef writes what is good to know to stderr, unless --quiet is set.
func (s stdio) notef(format string, args ...any) { s.progress().errorf(format, args...) }

// errorf writes to stderr and ignores write errors.
func (s stdio) errorf(format string, args ...any) { _, _ = fmt.Fprintf(s.err, format, args...) }

// printf writes to stdout.
func (s stdio) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format, args...)
	return err
}

// output is a file of the command line: stdout, or the file of a report. Once its reader
// has closed the pipe (`assay list | head`), writes succeed without effect, so that the
// exit code is still that of the run. Every other failed write is an error. The file is
// no embedded field: its other methods (WriteString) would bypass Write.
type output struct {
	file    *os.File
	guard   *guard
	gone    bool
	written bool
	lost    error // the first failed write
}

// Write writes to the file.
func (o *output) Write(p []byte) (int, error) {
	if o.gone {
		return len(p), nil
	}
	o.written = true
	n, err := o.file.Write(o.guard.clean(p))
	if errors.Is(err, syscall.EPIPE) {
		o.gone = true
		return len(p), nil
	}
	if err != nil {
		err = defect(err)
		if o.lost == nil {
			o.lost = err
		}
	}
	return n, err
}

// lost returns the first failed write to stdout. The help texts of the command line library are written without a check.
func (s stdio) lost() error {
	if o, ok := s.out.To.(*output); ok {
		return o.lost
	}
	return nil
}

// Fd returns the descriptor, for terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

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

// style returns the style of reports on w: the width of the terminal, or COLUMNS, or
// 80, between 60 and 200; in colour on a terminal unless NO_COLOR is set.
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

// excerptWidth returns the width of an indented transcript.
func excerptWidth(io stdio) int { return style(io.out.To, false).Width - 4 }
