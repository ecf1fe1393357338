package main

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/machine"
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

// exitCode prints err and returns the exit code.
func exitCode(io stdio, err error) int {
	var ex *exitError
	var unreachable *target.UnreachableError
	var limit *machine.LimitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ex) && ex.err == nil:
		return ex.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &unreachable), errors.As(err, &limit):
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
