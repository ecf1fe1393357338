package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"assay/internal/command/sandboxes"
	"assay/internal/target"
)

// reachFlags reach a target: by its URL, or through a control plane.
type reachFlags struct {
	target targetFlags
	lease  leaseFlags
}

func (f *reachFlags) register(c *cobra.Command) {
	f.target.register(c)
	f.lease.register(c)
}

// options returns the target at a URL, "" for none. exec is the command that starts it.
func (f *reachFlags) options(url, exec string) (target.Options, error) {
	o, err := f.target.options(url)
	if err == nil {
		err = f.lease.options(&o, exec)
	}
	return o, err
}

// leaseFlags test through a control plane: a sandbox of the run's own.
type leaseFlags struct {
	url, keyFile, template, sandboxURL string
}

func (f *leaseFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.url, "control-plane", "", "base `URL` of a control plane: create the sandboxes of the run there, and delete them afterwards")
	fs.StringVar(&f.keyFile, "api-key-file", "", "file with the API key of the control plane (default: the variable "+apiKeyVariable+")")
	fs.StringVar(&f.template, "template", "base", "with --control-plane, the template of every sandbox")
	fs.StringVar(&f.sandboxURL, "sandbox-url", "", "base `URL` of every sandbox, which headers tell apart (default: as the control plane answers)")
}

// options adds the control plane to the options of the target.
func (f *leaseFlags) options(o *target.Options, exec string) error {
	switch {
	case f.url != "" && o.URL != "":
		return errors.New("--control-plane: it names the target; do not give a URL as well")
	case f.url != "" && exec != "":
		return errors.New("--exec does not go with --control-plane")
	case f.url == "" && f.template != "base":
		return errors.New("--template needs --control-plane")
	}
	key, err := secretOf("--api-key-file", f.keyFile, apiKeyVariable)
	if err != nil {
		return err
	}
	o.Control = target.Control{URL: f.url, APIKey: key, SandboxURL: f.sandboxURL}
	for _, url := range []string{f.url, f.sandboxURL} {
		if err := target.CheckURL(url); url != "" && err != nil {
			return err
		}
	}
	return nil
}

// create creates the sandbox of the run, if the flags want one, and points the options at it.
// release deletes it.
func (f *leaseFlags) create(ctx context.Context, io stdio, o *target.Options) (release func(), err error) {
	if f.url == "" {
		return func() {}, nil
	}
	o.UserAgent = "assay/" + version
	s, err := sandboxes.Create(ctx, sandboxes.Options{Target: *o, Template: f.template})
	if err != nil {
		return nil, err
	}
	release = func() {
		if err := s.Close(); err != nil {
			io.errorf("assay: %v\n", err)
		}
	}
	if *o, err = s.Point(*o); err != nil {
		release()
		return nil, err
	}
	io.guard.hide(o.Secrets())
	io.notef("assay: testing the sandbox %s of %s\n", s.ID, f.url)
	return release, nil
}
