package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"assay/internal/base/machine"
	"assay/internal/base/safefile"
	"assay/internal/load/fleet"
	"assay/internal/target"
)

// The exit codes. Where several apply: 130, 2, 4, 3, 1, 5, 0.
const (
	exitUsage        = 2
	exitUnreachable  = 3
	exitDefect       = 4
	exitInconclusive = 5
	exitInterrupted  = 130
)

// exitError ends the program with a code and, unless Err is nil, a message.
type exitError struct {
	code int
	err  error
}

// Error returns the message.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as a usage error: exit code 2.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// defect marks err as a defect of Assay or the machine: exit code 4.
func defect(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitDefect, err}
}

// code ends the program with an exit code that the report has already explained.
func code(c int) error {
	if c == 0 {
		return nil
	}
	return &exitError{code: c}
}

// stackLines is the number of lines of a stack in a message.
const stackLines = 40

// panicked is the defect of a panic.
func panicked(value any, stack []byte) error {
	lines := strings.SplitN(strings.TrimSpace(string(stack)), "\n", stackLines+1)
	return defect(hint{
		fmt.Errorf("this is a defect of Assay: %v", value),
		"report it with these lines:\n  " + strings.Join(lines[:min(len(lines), stackLines)], "\n  "),
	})
}

// noRoom reports whether a file could not be written because of the disk: full, over a
// quota, over the limit of a file, or broken. That is never a wrong usage.
func noRoom(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// exitCode prints err and returns the exit code.
func exitCode(io stdio, err error) int {
	var ex *exitError
	var unreachable *target.UnreachableError
	var limit *machine.LimitError
	var bus *fleet.BusError
	var lost *fleet.LostError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ex) && ex.err == nil:
		return ex.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case noRoom(err):
		io.errorf("assay: %v\n  make room on the disk, or write elsewhere\n", err)
		return exitDefect
	case errors.As(err, &lost):
		io.errorf("assay: %v\n", err)
		return exitInconclusive
	case safefile.NoDescriptors(err):
		io.errorf("assay: %v\n  raise the limit of open files: ulimit -n\n", err)
		return exitUnreachable
	case errors.As(err, &unreachable), errors.As(err, &limit), errors.As(err, &bus):
		io.errorf("assay: %v\n", err)
		return exitUnreachable
	case errors.As(err, &ex):
		io.errorf("assay: %v\n", err)
		return ex.code
	default:
		io.errorf("assay: %v\n", err)
		return exitUsage
	}
}
