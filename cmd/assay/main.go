// Command assay tests, from outside and given only a URL, whether a sandbox
// gateway implements the E2B envd protocol correctly.
//
// Each command has one file: its flags fill an options struct, one call runs a
// package below, and package reports renders the result. exit.go lists the exit
// codes.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

func main() {
	// Libraries log errors of the peer; the report has those that matter.
	log.SetOutput(io.Discard)
	// Writing to a closed pipe returns an error instead of ending the program by a signal.
	// Children would inherit Ignore, so this uses Notify.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], stdio{in: os.Stdin, out: &output{file: os.Stdout}, err: os.Stderr}))
}

// run runs the program with the given arguments and returns the exit code.
func run(args []string, io stdio) int {
	ctx, stop := interruptible(context.Background(), io)
	defer stop()
	root := newRoot(io)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	code := exitCode(io, err)
	if err := failure(c, io, code, err); err != nil {
		io.errorf("assay: %v\n", err)
	}
	return code
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels, so
// that the program judges and writes its records. A second signal ends the program
// at once.
func interruptible(parent context.Context, io stdio) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var stopped atomic.Bool
	go func() {
		first := true
		for range signals {
			if stopped.Load() {
				return
			}
			if !first {
				os.Exit(exitInterrupted)
			}
			first = false
			io.errorf("\ninterrupted: cleaning up; interrupt again to quit at once\n")
			cancel()
		}
	}()
	return ctx, func() {
		stopped.Store(true)
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
