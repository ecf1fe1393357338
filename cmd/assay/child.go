package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"assay/internal/crash"
	"assay/internal/machine"
	"assay/internal/target"
	"assay/suites"
)

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

// startChild runs a command line in a new process group. Its output goes to stderr, because
// stdout is for reports, and is neither escaped nor redacted: the user's own command writes
// as from a shell.
func startChild(io stdio, line string) (*child, error) {
	c := &child{line: line}
	return c, c.start(io)
}

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
