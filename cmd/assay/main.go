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
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"assay/internal/base/crash"
	"assay/internal/base/machine"
	"assay/internal/base/termsafe"
)

func main() {
	// What no one can recover from, such as a lack of memory, ends the program by SIGABRT: the exit code 2 of
	// the Go runtime would say that the command line is wrong.
	debug.SetTraceback("crash")
	machine.NoCore()
	// Libraries log errors of the peer; the report has those that matter.
	log.SetOutput(io.Discard)
	// Writing to a closed pipe returns an error instead of ending the program by a signal.
	// Children would inherit Ignore, so this uses Notify.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(onStandardStreams(os.Args[1:]))
}

// onStandardStreams runs the program with the given arguments on the standard streams, and returns the exit code.
func onStandardStreams(args []string) int {
	g := new(guard)
	out, stderr := &output{file: os.Stdout, guard: g}, g.writer(os.Stderr)
	return run(args, stdio{in: os.Stdin, out: termsafe.Writer{To: out}, err: termsafe.Writer{To: stderr}, guard: g, farewell: new(farewell), takeover: new(takeover)})
}

// run runs the program with the given arguments and returns the exit code.
func run(args []string, io stdio) int {
	ctx, stop := interruptible(context.Background(), io)
	defer stop()
	root := newRoot(io)
	root.SetArgs(args)
	var once sync.Once
	crash.Handle(func(value any, stack []byte) {
		once.Do(func() {
			c, _, _ := root.Find(args)
			os.Exit(conclude(c, io, panicked(value, stack)))
		})
	})
	c, err := execute(ctx, root, args)
	return conclude(c, io, err)
}

// execute runs the command. A panic becomes an error once the deferred functions of the
// command have run, which end the gateway of --exec.
func execute(ctx context.Context, root *cobra.Command, args []string) (c *cobra.Command, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, _, _ = root.Find(args)
			err = panicked(p, debug.Stack())
		}
	}()
	return root.ExecuteContextC(ctx)
}

// conclude reports the error of a command, if any, and returns the exit code.
func conclude(c *cobra.Command, io stdio, err error) int {
	io.takeover.end()
	if err == nil {
		err = io.lost()
	}
	code := exitCode(io, err)
	if err := failure(c, io, code, err); err != nil {
		io.errorf("assay: %v\n", err)
	}
	return code
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, so
// that the program judges and writes its records. A second signal, or SIGQUIT, ends the
// program at once. SIGHUP stays ignored under nohup. A command that has taken the terminal over gets
// all signals itself.
func interruptible(parent context.Context, io stdio) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	var stopped atomic.Bool
	crash.Go(func() {
		first := true
		for s := range signals {
			if stopped.Load() {
				return
			}
			if io.takeover.takes(s) {
				continue
			}
			if !first || s == syscall.SIGQUIT {
				io.farewell.say(io)
				os.Exit(exitInterrupted)
			}
			first = false
			io.errorf("\ninterrupted: cleaning up; interrupt again to quit at once\n")
			cancel()
		}
	})
	return ctx, func() {
		stopped.Store(true)
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
