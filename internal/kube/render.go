package kube

import (
	"encoding/base64"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// The labels of all objects of a run, and of their pods.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelVersion   = "app.kubernetes.io/version"
	labelManagedBy = "app.kubernetes.io/managed-by"
)

// The components of a run.
const (
	Worker      = "worker"
	Coordinator = "coordinator"
)

const (
	program = "assay"
	// nobody is the user of the container image.
	nobody = 65532
	// readable is the mode of the secrets: the group of the pod reads them.
	readable = 0o440
	// keptFor is how long finished Jobs and their logs are kept.
	keptFor = 24 * time.Hour
	// index is the variable with the index of a pod, which Kubernetes replaces in arguments.
	index = "$(JOB_COMPLETION_INDEX)"
	// coordinatorMemory is that of the coordinator, in bytes: it merges the histograms of all workers.
	coordinatorMemory = 512 << 20
)

// Write writes the objects of a run as YAML documents.
func Write(w io.Writer, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	all := []document{
		{comment: o.about(), object: o.configMap()},
		{comment: o.aboutSecret(), object: o.secret()},
		{comment: []string{"The workers: each has its part of every second of the run. A worker that is lost is not replaced,", "because its part of the time is over; --lost-worker says what the run does without it."}, object: o.workers()},
		{comment: []string{"The coordinator: it waits for all workers, starts them together, and its log has the report.", "Its exit code is that of assay load: the Job is complete if the verdict is PASS."}, object: o.coordinator()},
	}
	return write(w, all)
}

// Name returns the name of the ConfigMap and the Secret of a run, and of the Job of a component.
func Name(run, component string) string {
	return strings.TrimSuffix(program+"-"+run+"-"+component, "-")
}

func (o *Options) labels(component string) map[string]string {
	l := map[string]string{labelName: program, labelInstance: o.Run, labelVersion: versionLabel(o.Version), labelManagedBy: program}
	if component != "" {
		l[labelComponent] = component
	}
	return l
}

// versionLabel returns a version as a value of a label, which has no + and at most 63 characters.
func versionLabel(version string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, version)
	return strings.Trim(clean[:min(len(clean), 63)], "-_.")
}

func (o *Options) meta(component string) Meta {
	return Meta{Name: Name(o.Run, component), Namespace: o.Namespace, Labels: o.labels(component)}
}

func (o *Options) configMap() ConfigMap {
	return ConfigMap{TypeMeta: TypeMeta{coreVersion, KindConfigMap}, Metadata: o.meta(""), Immutable: true, Data: o.Files}
}

func (o *Options) secret() Secret {
	s := Secret{TypeMeta: TypeMeta{coreVersion, KindSecret}, Metadata: o.meta(""), Type: "Opaque"}
	for key, value := range o.Secrets {
		if value == nil {
			continue
		}
		if s.Data == nil {
			s.Data = map[string]string{}
		}
		s.Data[key] = base64.StdEncoding.EncodeToString(value)
	}
	return s
}

// secretFiles returns the keys of the Secret that the containers see as files.
func (o *Options) secretFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.Secrets)), func(key string) bool { return key == TokenKey })
}

func (o *Options) workers() Job {
	spec := o.pod(Worker, append(verbatim(o.WorkerArgs), o.ShardFlag, index), Resources{
		// No limit of the CPU: the kernel would stop a container at it, and the report would say that
		// the gateway was slow.
		Requests: map[string]string{"cpu": o.Size.cpu(), "memory": o.Size.memory()},
		Limits:   map[string]string{"memory": o.Size.memory()},
	})
	if o.Size.WidePorts {
		spec.SecurityContext.Sysctls = []Sysctl{{Name: "net.ipv4.ip_local_port_range", Value: widestRange}}
	}
	spec.TopologySpreadConstraints = []Spread{{
		MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: "ScheduleAnyway",
		LabelSelector: &Selector{MatchLabels: map[string]string{labelInstance: o.Run, labelComponent: Worker}},
	}}
	j := o.job(Worker, spec)
	j.Spec.CompletionMode = "Indexed"
	j.Spec.Completions, j.Spec.Parallelism = new(o.Workers), new(o.Workers)
	j.Spec.BackoffLimitPerIndex = new(0)
	j.Spec.PodFailurePolicy = &PodFailurePolicy{Rules: []FailureRule{
		{Action: FailIndex, OnExitCodes: &ExitCodes{ContainerName: Worker, Operator: NotIn, Values: []int{0}}},
		{Action: FailIndex, OnPodConditions: []PodCondition{{Type: DisruptionTarget, Status: "True"}}},
	}}
	return j
}

func (o *Options) coordinator() Job {
	memory := Size{Memory: coordinatorMemory}.memory()
	j := o.job(Coordinator, o.pod(Coordinator, verbatim(o.CoordinatorArgs), Resources{
		Requests: map[string]string{"cpu": Size{MilliCPU: leastMilliCPU}.cpu(), "memory": memory},
		Limits:   map[string]string{"memory": memory},
	}))
	j.Spec.Completions, j.Spec.Parallelism = new(1), new(1)
	j.Spec.BackoffLimit = new(0)
	return j
}

func (o *Options) job(component string, pod PodSpec) Job {
	return Job{
		TypeMeta: TypeMeta{batchVersion, KindJob}, Metadata: o.meta(component),
		Spec: JobSpec{
			ActiveDeadlineSeconds:   new(seconds(o.Deadline)),
			TTLSecondsAfterFinished: new(int(keptFor / time.Second)),
			Template: Template{
				Metadata: Meta{Labels: o.labels(component), Annotations: map[string]string{
					// An autoscaler that moves a pod to empty its node would lose a worker.
					"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
					"karpenter.sh/do-not-disrupt":                    "true",
				}},
				Spec: pod,
			},
		},
	}
}

// verbatim returns arguments in which Kubernetes replaces nothing: it replaces $(NAME), and $$ by $.
func verbatim(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = strings.ReplaceAll(a, "$", "$$")
	}
	return out
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// pod returns the pod of a component. It meets the restricted Pod Security Standard.
func (o *Options) pod(component string, args []string, r Resources) PodSpec {
	c := Container{
		Name: component, Image: o.Image, Args: args, Resources: &r,
		Env: []Variable{{Name: o.TokenVariable, ValueFrom: &Source{SecretKeyRef: &KeyRef{Name: Name(o.Run, ""), Key: TokenKey, Optional: true}}}},
		SecurityContext: &ContainerSecurity{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &Capabilities{Drop: []string{"ALL"}},
		},
		TerminationMessagePolicy: "FallbackToLogsOnError",
		VolumeMounts:             []Mount{{Name: "files", MountPath: FilesDir, ReadOnly: true}},
	}
	volumes := []Volume{{Name: "files", ConfigMap: &ConfigMapVolume{Name: Name(o.Run, "")}}}
	if keys := o.secretFiles(); len(keys) > 0 {
		v := SecretVolume{SecretName: Name(o.Run, ""), DefaultMode: new(readable)}
		for _, key := range keys {
			v.Items = append(v.Items, Item{Key: key, Path: key})
		}
		volumes = append(volumes, Volume{Name: "secrets", Secret: &v})
		c.VolumeMounts = append(c.VolumeMounts, Mount{Name: "secrets", MountPath: SecretsDir, ReadOnly: true})
	}
	return PodSpec{
		RestartPolicy:                 "Never",
		TerminationGracePeriodSeconds: new(seconds(o.Grace)),
		AutomountServiceAccountToken:  new(false),
		// The variables of a Service with a name like assay-gateway would be taken for flags.
		EnableServiceLinks: new(false),
		SecurityContext: &PodSecurity{
			RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), RunAsGroup: new(int64(nobody)), FSGroup: new(int64(nobody)),
			SeccompProfile: &Profile{Type: "RuntimeDefault"},
		},
		Containers: []Container{c},
		Volumes:    volumes,
	}
}
