package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"assay/internal/base/crash"
	"assay/internal/base/machine"
	"assay/internal/target"
	"assay/suites"
)

// childFlags are the flags of the commands that can start the gateway.
type childFlags struct {
	exec string
	wait time.Duration
}

func (f *childFlags) register(fs flags) {
	fs.StringVar(&f.exec, "exec", "", "start the gateway with this command line, and stop it afterwards")
	fs.DurationVar(&f.wait, "wait", 0, "wait this long for the gateway to accept connections (with --exec: 30s)")
}

// options returns how long to wait for the gateway at a URL.
func (f *childFlags) options(url string) (wait time.Duration, err error) {
	switch {
	case f.exec != "" && url == "":
		return 0, errors.New("--exec: also give the URL of the gateway")
	case f.exec != "" && f.wait == 0:
		return execWait, nil
	}
	return f.wait, nil
}

// execWait is the default of --wait with --exec.
const execWait = 30 * time.Second

// start starts the gateway, if the flags want one, and waits until it accepts connections. Then the run can start it again,
// and stop ends it.
func (f *childFlags) start(ctx context.Context, io stdio, o *suites.Options) (stop func(), err error) {
	if f.exec == "" {
		return func() {}, nil
	}
	c := &child{line: f.exec}
	if err := c.start(io); err != nil {
		return nil, &exitError{exitUnreachable, err}
	}
	o.Restart = func(ctx context.Context) { c.restart(ctx, io) }
	if err := c.up(ctx, *o); err != nil {
		c.stop(io)
		return nil, nothingRun(err)
	}
	return func() { c.stop(io) }, nil
}

// child is the gateway that --exec starts and stops.
type child struct {
	line  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of Wait, valid once ended is closed
}

// childGrace is the time for a gateway to exit after SIGTERM.
const childGrace = 10 * time.Second

// dyingGrace is the time between the last connection that a dying gateway takes and its exit.
const dyingGrace = 2 * time.Second

// start runs the command line in a new process group. Its output goes to stderr, because
// stdout is for reports, and is neither escaped nor redacted: the user's own command writes
// as from a shell.
func (c *child) start(io stdio) error {
	cmd, ended := exec.Command("/bin/sh", "-c", c.line), make(chan struct{}) //nolint:gosec,noctx // the user's own command; it is ended by stop
	cmd.Stdout, cmd.Stderr = unguarded(io.err.To), unguarded(io.err.To)
	cmd.SysProcAttr = machine.OwnGroup()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("--exec: %w", err)
	}
	c.cmd, c.ended = cmd, ended
	crash.Go(func() {
		c.err = cmd.Wait()
		close(ended)
	})
	return nil
}

// restart starts the command again if it has ended, or ends within the grace of a process that is about to die.
func (c *child) restart(ctx context.Context, io stdio) {
	select {
	case <-c.ended:
	case <-time.After(dyingGrace):
		return
	case <-ctx.Done():
		return
	}
	_ = machine.SignalGroup(c.cmd.Process.Pid, syscall.SIGKILL) // what the command has left behind
	if err := c.start(io); err != nil {
		io.errorf("assay: %v\n", err)
	}
}

// up waits until the gateway accepts connections or exits.
func (c *child) up(ctx context.Context, o suites.Options) error {
	t, err := target.New(o.Target)
	if err != nil {
		return usage(err)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	crash.Go(func() {
		select {
		case <-c.ended:
			cancel()
		case <-stop:
		}
	})
	if err = t.Wait(waiting, o.Wait); err == nil || ctx.Err() != nil || waiting.Err() == nil {
		return err
	}
	<-c.ended
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return &exitError{exitUnreachable, fmt.Errorf("--exec: the command exited (%s) before the gateway could be tested", how)}
}

// stop ends the gateway and everything in its group with SIGTERM, then SIGKILL.
func (c *child) stop(io stdio) {
	group := c.cmd.Process.Pid
	_ = machine.SignalGroup(group, syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(childGrace):
		io.errorf("assay: --exec: the command did not exit within %v after SIGTERM; killing it\n", childGrace)
	}
	// Kill the rest of the group in both cases.
	if err := machine.SignalGroup(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		io.errorf("assay: --exec: %v\n", err)
	}
	<-c.ended
}
