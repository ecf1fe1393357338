package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"assay/fakes/gateway"
	"assay/internal/fleet"
	"assay/internal/load"
	"assay/internal/target"
)

// embed starts the embedded gateway and points the options of a target at it. stop ends it. The gateway outlives an
// interrupt, because the run then kills its processes.
func embed(ctx context.Context, io stdio, t *target.Options) (stop func() error, err error) {
	g, err := gateway.Start(context.WithoutCancel(ctx), gateway.Options{Log: logger(io), Token: t.Token})
	if err != nil {
		return nil, defect(fmt.Errorf("starting the embedded gateway: %w", err))
	}
	t.URL, t.Embedded = g.URL(), true
	return func() error { return defect(g.Close()) }, nil
}

// localFleet returns worker processes of this machine with a command line, for a run that may need them.
func localFleet(line []string) load.Fleet {
	return fleet.New(fleet.Options{Version: version, Line: line})
}

// workerLine returns the command line of a worker process of a load run, nil if this program does not know its path.
func workerLine() []string {
	exe, err := os.Executable()
	if err != nil { // without /proc
		if exe, err = exec.LookPath(os.Args[0]); err == nil {
			exe, err = filepath.Abs(exe)
		}
	}
	if err != nil {
		return nil
	}
	return []string{exe, loadWorker}
}
