// Command assay proves, from outside and given only a URL, whether a sandbox
// gateway speaks the E2B envd protocol correctly.
//
// One file per command: flags fill an options struct, one call goes into a
// package below, and the answer is drawn by reports. Exit codes are those of
// exit.go.
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
	// Libraries log what a peer does wrong; what matters of it is in the report.
	log.SetOutput(io.Discard)
	// A pipe whose reader has gone is an error of the write, and no end by a signal. Notify,
	// and not Ignore, which would pass on to children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], stdio{in: os.Stdin, out: &output{File: os.Stdout}, err: os.Stderr}))
}

// run is the program without its process: arguments in, exit code out.
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
// that what was recorded is judged and written. A second one ends the program
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
			io.errorf("\ninterrupted: cleaning up; once more to quit at once\n")
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
