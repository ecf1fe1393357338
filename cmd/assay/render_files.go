package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/internal/command/kube"
	"assay/internal/load"
	"assay/internal/target"
	"assay/scenarios"
)

// renderMargin is the time for what Kubernetes does before the first worker comes and after the report.
const renderMargin = 5 * time.Minute

// renderGrace is added to the end of the run: a worker kills its processes after a signal, and reports.
const renderGrace = 20 * time.Second

// size sets what a worker needs and how long the run may take. The plan is checked as load does.
func (f *renderFlags) size(o *kube.Options, plan *load.Options) error {
	if _, err := target.New(plan.Target); err != nil {
		return err
	}
	outline, err := plan.Outline()
	if err != nil {
		return err
	}
	o.Size, err = kube.Load{
		Streams: outline.Streams, OwnSockets: outline.HTTP == load.HTTP11, StreamBytes: outline.StreamBytes,
		Starts: outline.Starts, Lines: outline.Lines,
	}.Share(o.Workers)
	if err != nil {
		return fmt.Errorf("--workers: %w", err)
	}
	o.Grace = outline.Ending + renderGrace
	switch {
	case f.deadline < 0 || f.deadline > 0 && f.deadline <= outline.Duration:
		return fmt.Errorf("--deadline %v: want more than the plan's duration of %v", f.deadline, outline.Duration)
	case f.deadline > 0:
		o.Deadline = f.deadline
	case outline.Duration == 0:
		return errors.New("the plan ends with a count of streams, which may take any time: say with --deadline how long the run may take")
	default:
		o.Deadline = f.fleet.wait + outline.Duration + outline.Ending + renderMargin
	}
	return nil
}

// files reads the files of the target for the ConfigMap and the Secret.
func (f *renderFlags) files(o *kube.Options, t target.Options, plan string) error {
	text, err := scenarios.ReadWorkload(plan)
	if err != nil {
		return err
	}
	o.Files[planFile] = string(text.Text)
	if f.profile != "" {
		p, err := scenarios.LoadProfile(f.profile)
		if err != nil {
			return err
		}
		if !scenarios.IsProfileName(f.profile) {
			o.Files[profileFile] = string(p.Text)
		}
	}
	if len(t.CACert) > 0 {
		o.Files[caFile] = string(t.CACert)
	}
	if t.Token != "" {
		o.Secrets[kube.TokenKey] = []byte(t.Token)
	}
	if f.target.headerFile != "" {
		o.Secrets[headersKey], err = readFile("--header-file", f.target.headerFile)
	}
	return err
}

// busFiles takes the files of the bus for the Secret and the ConfigMap, and says what is missing.
func (f *renderFlags) busFiles(o *kube.Options) (notes []string, err error) {
	b, err := f.fleet.bus()
	if len(b.CACert) > 0 {
		o.Files[busCAFile] = string(b.CACert)
	}
	switch {
	case err != nil:
		return nil, err
	case b.Credentials != "":
		o.Secrets[busCredsKey] = []byte(b.Credentials)
		return nil, b.Validate()
	case b.Validate() == nil:
		return nil, nil // a bus that needs none
	}
	b.Credentials = "to come"
	o.Secrets[busCredsKey] = nil
	return []string{"no --bus-creds: the pods wait until the Secret " + kube.Name(o.Run, "") + " has the key " + busCredsKey}, b.Validate()
}

// commands sets the arguments of the pods: the flags, with the paths of the files in the pods.
func (f *renderFlags) commands(fs flags, o *kube.Options, url string) {
	// The token is in the environment of the pods.
	in := map[string]string{"token-file": "", "header-file": kube.SecretFile(headersKey), "cacert": kube.File(caFile)}
	common := []string{"--bus", f.fleet.url, "--run", f.fleet.run, "--wait", f.fleet.wait.String()}
	if _, ok := o.Secrets[busCredsKey]; ok {
		common = append(common, "--bus-creds", kube.SecretFile(busCredsKey))
	}
	if _, ok := o.Files[busCAFile]; ok {
		common = append(common, "--bus-cacert", kube.File(busCAFile))
	}
	o.CoordinatorArgs = slices.Concat([]string{"load", url, "--plan", kube.File(planFile), "--workers", strconv.Itoa(f.fleet.workers), "--lost-worker", f.fleet.lost}, common, fs.words(in))
	in["shell"] = "" // of a worker it is in the plan
	o.WorkerArgs = slices.Concat([]string{"worker"}, common, fs.words(in))
	if f.target.seed != 0 {
		o.CoordinatorArgs = append(o.CoordinatorArgs, "--seed", strconv.FormatUint(f.target.seed, 10))
	}
	switch _, ok := o.Files[profileFile]; {
	case ok:
		o.CoordinatorArgs = append(o.CoordinatorArgs, "--profile", kube.File(profileFile))
	case f.profile != "":
		o.CoordinatorArgs = append(o.CoordinatorArgs, "--profile", f.profile)
	}
}
