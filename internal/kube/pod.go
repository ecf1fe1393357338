package kube

// Template is what the pods of a Job are made from.
type Template struct {
	Metadata Meta    `yaml:"metadata,omitempty"`
	Spec     PodSpec `yaml:"spec"`
}

// PodSpec is the specification of a pod.
type PodSpec struct {
	RestartPolicy                 string       `yaml:"restartPolicy,omitempty"`
	TerminationGracePeriodSeconds *int64       `yaml:"terminationGracePeriodSeconds,omitempty"`
	AutomountServiceAccountToken  *bool        `yaml:"automountServiceAccountToken,omitempty"`
	EnableServiceLinks            *bool        `yaml:"enableServiceLinks,omitempty"`
	SecurityContext               *PodSecurity `yaml:"securityContext,omitempty"`
	TopologySpreadConstraints     []Spread     `yaml:"topologySpreadConstraints,omitempty"`
	Containers                    []Container  `yaml:"containers"`
	Volumes                       []Volume     `yaml:"volumes,omitempty"`
}

// PodSecurity is the security context of a pod.
type PodSecurity struct {
	RunAsNonRoot   *bool    `yaml:"runAsNonRoot,omitempty"`
	RunAsUser      *int64   `yaml:"runAsUser,omitempty"`
	RunAsGroup     *int64   `yaml:"runAsGroup,omitempty"`
	FSGroup        *int64   `yaml:"fsGroup,omitempty"`
	SeccompProfile *Profile `yaml:"seccompProfile,omitempty"`
	Sysctls        []Sysctl `yaml:"sysctls,omitempty"`
}

// Profile is a seccomp profile.
type Profile struct {
	Type string `yaml:"type"`
}

// Sysctl is a setting of the kernel, for the network of one pod.
type Sysctl struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Spread distributes pods over nodes.
type Spread struct {
	MaxSkew           int       `yaml:"maxSkew"`
	TopologyKey       string    `yaml:"topologyKey"`
	WhenUnsatisfiable string    `yaml:"whenUnsatisfiable"`
	LabelSelector     *Selector `yaml:"labelSelector,omitempty"`
}

// Selector selects by labels.
type Selector struct {
	MatchLabels map[string]string `yaml:"matchLabels,omitempty"`
}

// Container is a container of a pod.
type Container struct {
	Name                     string             `yaml:"name"`
	Image                    string             `yaml:"image"`
	Command                  []string           `yaml:"command,omitempty"`
	Args                     []string           `yaml:"args,omitempty"`
	Env                      []Variable         `yaml:"env,omitempty"`
	Resources                *Resources         `yaml:"resources,omitempty"`
	SecurityContext          *ContainerSecurity `yaml:"securityContext,omitempty"`
	TerminationMessagePolicy string             `yaml:"terminationMessagePolicy,omitempty"`
	VolumeMounts             []Mount            `yaml:"volumeMounts,omitempty"`
}

// Variable is a variable of the environment: a value, or where it comes from.
type Variable struct {
	Name      string  `yaml:"name"`
	Value     string  `yaml:"value,omitempty"`
	ValueFrom *Source `yaml:"valueFrom,omitempty"`
}

// Source is where the value of a variable comes from.
type Source struct {
	SecretKeyRef *KeyRef `yaml:"secretKeyRef,omitempty"`
}

// KeyRef names a value of a Secret. Without it, the variable is not set if Optional, and the
// container does not start otherwise.
type KeyRef struct {
	Name     string `yaml:"name"`
	Key      string `yaml:"key"`
	Optional bool   `yaml:"optional,omitempty"`
}

// Resources are what a container asks for and what it may use at most, by "cpu" and "memory".
type Resources struct {
	Requests map[string]string `yaml:"requests,omitempty"`
	Limits   map[string]string `yaml:"limits,omitempty"`
}

// ContainerSecurity is the security context of a container.
type ContainerSecurity struct {
	AllowPrivilegeEscalation *bool         `yaml:"allowPrivilegeEscalation,omitempty"`
	ReadOnlyRootFilesystem   *bool         `yaml:"readOnlyRootFilesystem,omitempty"`
	Capabilities             *Capabilities `yaml:"capabilities,omitempty"`
}

// Capabilities are those that a container does not get.
type Capabilities struct {
	Drop []string `yaml:"drop,omitempty"`
}

// Mount is where a container sees a volume.
type Mount struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readOnly,omitempty"`
}

// Volume is a folder of a pod. Exactly one of its sources is set.
type Volume struct {
	Name      string           `yaml:"name"`
	ConfigMap *ConfigMapVolume `yaml:"configMap,omitempty"`
	Secret    *SecretVolume    `yaml:"secret,omitempty"`
	EmptyDir  *EmptyDir        `yaml:"emptyDir,omitempty"`
}

// ConfigMapVolume has the texts of a ConfigMap as files.
type ConfigMapVolume struct {
	Name string `yaml:"name"`
}

// SecretVolume has some values of a Secret as files. The pod does not start before the Secret has
// all of them.
type SecretVolume struct {
	SecretName  string `yaml:"secretName"`
	DefaultMode *int   `yaml:"defaultMode,omitempty"`
	Items       []Item `yaml:"items,omitempty"`
}

// Item is a value of a Secret and the file that has it.
type Item struct {
	Key  string `yaml:"key"`
	Path string `yaml:"path"`
}

// EmptyDir is a folder that a pod may write.
type EmptyDir struct {
	SizeLimit string `yaml:"sizeLimit,omitempty"`
}
