package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/load"
	"assay/internal/load/fleet"
)

// busFlags say where the NATS server of a run is.
type busFlags struct{ url, creds, caCert string }

func (f *busFlags) register(fs flags, use string) {
	fs.StringVar(&f.url, "bus", "", use)
	fs.StringVar(&f.creds, "bus-creds", "", "file with the credentials for --bus: of NATS (.creds), the seed of an nkey, USER:PASSWORD, or a token")
	fs.StringVar(&f.caCert, "bus-cacert", "", "file with the certificate authorities (PEM) to trust for --bus")
}

// bus returns the bus of the flags, which is not validated.
func (f *busFlags) bus() (b fleet.Bus, err error) {
	b.URL = f.url
	if f.creds != "" {
		if b.Credentials, err = readSecret("--bus-creds", f.creds); err != nil {
			return b, err
		}
	}
	b.CACert, err = readFile("--bus-cacert", f.caCert)
	return b, err
}

// fleetFlags share the plan of a run among worker processes.
type fleetFlags struct {
	busFlags

	workers int
	run     string
	lost    string
	wait    time.Duration
}

func (f *fleetFlags) register(c *cobra.Command, lost fleet.Policy) {
	fs := flagsOf(c)
	fs.IntVar(&f.workers, "workers", 0, "share the streams among N processes: of this machine or, with --bus, from anywhere")
	f.busFlags.register(fs, "wait for the --workers at the NATS server at this `URL` (nats://HOST:4222 or tls://…), where assay worker comes to")
	fs.StringVar(&f.run, "run", "", "with --bus: the `ID` of the run, which each assay worker names")
	fs.StringVar(&f.lost, "lost-worker", string(lost), "with several workers: what to do when one is lost: abort (the run is inconclusive) or degrade (go on without it)")
	fs.DurationVar(&f.wait, "wait", fleet.DefaultWait, "with --bus: time to wait for all workers")
}

// options checks the flags, and returns the fleet of the run. line is the command line of a worker process.
func (f *fleetFlags) options(c *cobra.Command, line []string) (fleet.Options, error) {
	o := fleet.Options{Version: version, Line: line, Run: f.run}
	var err error
	if o.Policy, err = fleet.ParsePolicy(f.lost); err != nil {
		return o, fmt.Errorf("--lost-worker %w", err)
	}
	if fl := c.Flags().Lookup("workers"); fl.Changed && f.workers < 1 {
		return o, fmt.Errorf("--workers %d: want 1 or more", f.workers)
	}
	if f.url == "" {
		for _, name := range []string{"bus-creds", "bus-cacert", "run", "wait"} {
			if c.Flags().Lookup(name).Changed {
				return o, fmt.Errorf("--%s is for workers that come over --bus: name that, too, or leave it out", name)
			}
		}
		if f.workers > load.MostLocal {
			return o, fmt.Errorf("--workers %d: this machine gets at most %d; with --bus, they come from others", f.workers, load.MostLocal)
		}
		return o, nil
	}
	if fl := c.Flags().Lookup("resume"); f.workers == 0 && (c.Name() != "load" || !fl.Changed) {
		return o, errors.New("--bus: say with --workers how many workers the run waits for")
	}
	if f.wait <= 0 {
		return o, fmt.Errorf("--wait %v: want more than 0, for example 5m", f.wait)
	}
	if f.run != "" {
		if err := fleet.CheckRun(f.run); err != nil {
			return o, fmt.Errorf("--run %q: %w", f.run, err)
		}
	}
	b, err := f.bus()
	o.Bus, o.Wait = &b, f.wait
	if err == nil {
		err = b.Validate()
	}
	return o, err
}

// resumeFlags are the flags that a resumed run takes: everything else is that of the run.
var resumeFlags = []string{
	"resume", "bus", "bus-creds", "bus-cacert", "token-file", "header-file", "header", "user", "cacert", "insecure", "endpoint", "time-scale", "out", "format", "report", "metrics-prefix",
	"quiet", "ci", "ui", "config", "metrics-listen", "wait", "engine", "variant",
}

// onlyResumes refuses flags that a resumed run does not take.
func (f *loadFlags) onlyResumes(c *cobra.Command) (err error) {
	if e := fleet.CheckRun(f.resume); e != nil {
		return fmt.Errorf("--resume %q: %w", f.resume, e)
	}
	c.Flags().Visit(func(fl *pflag.Flag) {
		if err == nil && !slices.Contains(resumeFlags, fl.Name) {
			err = fmt.Errorf("--%s: the plan of a resumed run is that of the run; leave the flag out", fl.Name)
		}
	})
	return err
}

// recall returns the options of the run to resume.
func (f *loadFlags) recall(ctx context.Context, workers *fleet.Fleet, o load.Options) (load.Options, error) {
	job, memo, err := workers.Recall(ctx)
	if err != nil {
		return o, err
	}
	o.Target.Embedded = false
	o, err = load.Resumed(o, *job, memo)
	return o, usage(err)
}
