package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/command/kube"
	"assay/internal/engine/reproduce"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/fleet"
)

// kubernetes is the only scheduler that render knows.
const kubernetes = "k8s"

// The defaults of render: names of Services in the namespace of the run.
const (
	defaultBus    = "tls://nats:4222"
	defaultTarget = "http://gateway:8081"
)

// The names of the files and secrets of the pods.
const (
	planFile    = "plan.yaml"
	profileFile = "profile.yaml"
	caFile      = "ca.crt"
	busCAFile   = "bus-ca.crt"
	headersKey  = "headers"
	busCredsKey = "bus.creds"
)

// renderFlags are the flags of render.
type renderFlags struct {
	target           targetFlags
	fleet            fleetFlags
	profile          string
	image, namespace string
	deadline         time.Duration
}

func newRender(io stdio) *cobra.Command {
	var f renderFlags
	c := &cobra.Command{
		Use:   "render k8s PLAN [URL]",
		Short: "Print a load run of many workers as Kubernetes objects",
		Long: `Prints what kubectl apply needs to run PLAN, a file as for load --plan, with --workers
pods against the gateway at URL: a ConfigMap with the plan, a Secret, an Indexed Job of
the workers, and a Job of the coordinator, which prints the report. The pods meet at
--bus, a NATS server with JetStream.

URL and --bus are addresses as the pods see them. The defaults are Services of the
namespace: ` + defaultTarget + ` and ` + defaultBus + `.

The files of --token-file, --header-file and --bus-creds go into the Secret, those of
--cacert, --bus-cacert and --profile into the ConfigMap. Without --bus-creds, the pods wait
until somebody adds the key ` + busCredsKey + ` to the Secret.

A worker that is lost is not replaced: its part of the time is over. CPU and memory of the
workers follow from the streams of the plan. Kubernetes ends everything after --deadline,
and deletes the Jobs a day after their end.`,
		Example: `  # forty workers, from files with the secrets
  assay render k8s plan.yaml --workers 40 --token-file token --bus-creds bus.creds | kubectl apply -f -

  # a gateway and a bus elsewhere, an image of your own registry
  assay render k8s plan.yaml https://gateway.example --workers 4 --bus tls://nats.example:4222 --image registry.example/assay:1.0 --namespace load > run.yaml`,
		Args: between(2, 3, "want "+kubernetes+", the file of a plan, and at most one URL"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{kubernetes}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			o, notes, err := f.options(flagsOf(c), args)
			if err != nil {
				return usage(err)
			}
			for _, n := range notes {
				io.notef("note: %s\n", n)
			}
			// The Secret of the output has the secrets, so nothing is hidden from it.
			return defect(kube.Write(io.out.To, o))
		},
	}
	f.target.register(c)
	fs := flagsOf(c)
	f.fleet.register(c, fleet.Abort)
	f.fleet.url, fs.Lookup("bus").DefValue = defaultBus, defaultBus
	for name, use := range map[string]string{
		"workers": "number of worker pods, which share the streams",
		"bus":     "`URL` of the NATS server where the pods meet (nats://HOST:4222 or tls://…)",
		"run":     "`ID` of the run, new for each run (default: from the time)",
		"wait":    "time to wait for all workers",
	} {
		fs.Lookup(name).Usage = use
	}
	fs.profile(&f.profile, "profile with shell, paths and metric names: ")
	fs.StringVar(&f.image, "image", "assay:"+version, "container image of this program")
	fs.StringVar(&f.namespace, "namespace", "", "namespace of the objects (default: that of kubectl)")
	fs.DurationVar(&f.deadline, "deadline", 0, "time after which Kubernetes ends the run (default: the plan's duration, and the time in which workers may come)")
	return c
}

// options checks all flags and reads all files before anything is written. The notes are for the
// user.
func (f *renderFlags) options(fs flags, args []string) (o kube.Options, notes []string, err error) {
	if args[0] != kubernetes {
		return o, nil, fmt.Errorf("%q: want %s, the only one that render knows", args[0], kubernetes)
	}
	url := defaultTarget
	if len(args) > 2 {
		url = args[2]
	} else {
		notes = append(notes, "no URL: the target is "+url+", the Service gateway of the namespace")
	}
	if f.fleet.run == "" {
		f.fleet.run = "load-" + time.Now().UTC().Format("20060102-150405")
	}
	if err := f.validate(); err != nil {
		return o, nil, err
	}
	t, err := f.target.options(url)
	if err != nil {
		return o, nil, err
	}
	o = kube.Options{
		Run: f.fleet.run, Namespace: f.namespace, Image: f.image, Version: version, Workers: f.fleet.workers, ShardFlag: "--shard", TokenVariable: reproduce.TokenVariable,
		Files: map[string]string{}, Secrets: map[string][]byte{},
	}
	plan := load.Options{Target: t, Plan: args[1], Workers: o.Workers, Profile: f.profile, Schedule: load.Schedule{Seed: f.target.seed}, Engine: fast.Engine{}}
	if err := f.size(&o, &plan); err != nil {
		return o, nil, err
	}
	if err := f.files(&o, t, args[1]); err != nil {
		return o, nil, err
	}
	more, err := f.busFiles(&o)
	if err != nil {
		return o, nil, err
	}
	f.commands(fs, &o, url)
	return o, append(notes, more...), nil
}

// validate checks the flags that need no file.
func (f *renderFlags) validate() error {
	_, lost := fleet.ParsePolicy(f.fleet.lost)
	for _, c := range []struct {
		flag string
		err  error
	}{
		{"workers", kube.CheckWorkers(f.fleet.workers)}, {"run", kube.CheckRun(f.fleet.run)}, {"lost-worker", lost},
		{"image", kube.CheckImage(f.image)}, {"namespace", kube.CheckNamespace(f.namespace)},
	} {
		if c.err != nil {
			return fmt.Errorf("--%s %w", c.flag, c.err)
		}
	}
	if f.fleet.wait <= 0 {
		return fmt.Errorf("--wait %v: want more than 0, for example 5m", f.fleet.wait)
	}
	return nil
}
