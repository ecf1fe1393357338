package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"assay/internal/command/sandboxes"
	"assay/internal/load"
	"assay/internal/record/bundle"
)

// mostSandboxes bounds --sandboxes, and shownFailures the messages of failures in the report.
const (
	mostSandboxes = 1000
	shownFailures = 5
)

// sandboxOptions adds the sandboxes to the options, before they are created.
func (f *loadFlags) sandboxOptions(given bool) error {
	switch {
	case f.lease.url == "" && given:
		return errors.New("--sandboxes needs --control-plane")
	case f.sandboxes < 1 || f.sandboxes > mostSandboxes:
		return fmt.Errorf("--sandboxes %d: want 1 to %d", f.sandboxes, mostSandboxes)
	case f.lease.url == "":
		return nil
	}
	// The sandboxes have the scheme of this address.
	f.Target.URL = cmp.Or(f.lease.sandboxURL, f.lease.url)
	f.Sandboxes = &load.Sandboxes{}
	return nil
}

// createSandboxes creates the sandboxes of the run, and points the options at them. release
// deletes those that the run has not deleted.
func (f *loadFlags) createSandboxes(ctx context.Context, io stdio, o *load.Options) (release func(), err error) {
	base := o.Target
	base.UserAgent = "assay/" + version
	before := *o
	fleet := sandboxes.NewFleet(sandboxes.Options{Target: base, Template: f.lease.template}, f.sandboxes, before.FirstCommand)
	io.farewell.set(fleet.Left)
	release = func() {
		if _, left := fleet.Close(); len(left) > 0 {
			io.errorf("assay: not deleted: %s\n", strings.Join(left, ", "))
		}
	}
	io.notef("creating %s through %s\n", plural(f.sandboxes, "sandbox", "sandboxes"), f.lease.url)
	if err := fleet.Create(ctx); err != nil {
		return nil, err
	}
	points, err := fleet.Points(ctx)
	if err != nil {
		release()
		return nil, err
	}
	var secrets []string
	for i := range points {
		secrets = append(secrets, points[i].Secrets()...)
	}
	io.guard.hide(secrets)
	o.Target = points[0]
	o.Sandboxes = &load.Sandboxes{Targets: points, Figures: f.figures(fleet, len(points)), Delete: fleet.Close}
	return release, nil
}

// figures returns the facts about the creation for the report.
func (f *loadFlags) figures(fleet *sandboxes.Fleet, created int) bundle.LoadSandboxes {
	creation, ready, took := fleet.Times()
	s := bundle.LoadSandboxes{
		ControlPlane: f.lease.url, Template: f.lease.template, Wanted: int64(f.sandboxes), Created: int64(created),
		Create: load.LatencyOf(creation), Ready: load.LatencyOf(ready),
	}
	if seconds := took.Seconds(); seconds > 0 {
		s.PerSecond = float64(created) / seconds
	}
	for _, one := range fleet.Failed() {
		if s.Failures == nil {
			s.Failures = map[string]int64{}
		}
		s.Failed++
		s.Failures[one.What]++
		if text := one.Err.Error(); len(s.Messages) < shownFailures && !slices.Contains(s.Messages, text) {
			s.Messages = append(s.Messages, text)
		}
	}
	return s
}

// plural returns a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// farewell tells what is left behind when a second interrupt ends the program at once. A nil
// farewell tells nothing.
type farewell struct {
	left atomic.Pointer[func() []string]
}

// set sets the function that returns the ids of the sandboxes that exist.
func (f *farewell) set(left func() []string) {
	if f != nil {
		f.left.Store(&left)
	}
}

// say names the sandboxes that exist.
func (f *farewell) say(io stdio) {
	if f == nil {
		return
	}
	if left := f.left.Load(); left != nil {
		if ids := (*left)(); len(ids) > 0 {
			io.errorf("assay: not deleted: %s\n", strings.Join(ids, ", "))
		}
	}
}
