package kube

// The kinds of objects.
const (
	KindJob       = "Job"
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

const (
	coreVersion  = "v1"
	batchVersion = "batch/v1"
)

// TypeMeta says what an object is.
type TypeMeta struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
}

// Meta is the metadata of an object.
type Meta struct {
	Name        string            `yaml:"name,omitempty"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// ConfigMap is a ConfigMap of texts.
type ConfigMap struct {
	TypeMeta  `yaml:",inline"`
	Metadata  Meta              `yaml:"metadata"`
	Immutable bool              `yaml:"immutable,omitempty"`
	Data      map[string]string `yaml:"data,omitempty"`
}

// Secret is a Secret of type Opaque.
type Secret struct {
	TypeMeta `yaml:",inline"`
	Metadata Meta   `yaml:"metadata"`
	Type     string `yaml:"type,omitempty"`
	// Data has the values in base64.
	Data map[string]string `yaml:"data,omitempty"`
}

// Job is a Job of batch/v1.
type Job struct {
	TypeMeta `yaml:",inline"`
	Metadata Meta    `yaml:"metadata"`
	Spec     JobSpec `yaml:"spec"`
}

// JobSpec is the specification of a Job. Nil pointers are absent fields.
type JobSpec struct {
	CompletionMode          string            `yaml:"completionMode,omitempty"`
	Completions             *int              `yaml:"completions,omitempty"`
	Parallelism             *int              `yaml:"parallelism,omitempty"`
	BackoffLimit            *int              `yaml:"backoffLimit,omitempty"`
	BackoffLimitPerIndex    *int              `yaml:"backoffLimitPerIndex,omitempty"`
	MaxFailedIndexes        *int              `yaml:"maxFailedIndexes,omitempty"`
	PodFailurePolicy        *PodFailurePolicy `yaml:"podFailurePolicy,omitempty"`
	ActiveDeadlineSeconds   *int64            `yaml:"activeDeadlineSeconds,omitempty"`
	TTLSecondsAfterFinished *int              `yaml:"ttlSecondsAfterFinished,omitempty"`
	Template                Template          `yaml:"template"`
}

// PodFailurePolicy says what becomes of a Job when one of its pods fails: the first rule that
// fits decides.
type PodFailurePolicy struct {
	Rules []FailureRule `yaml:"rules"`
}

// The actions of a FailureRule.
const (
	FailJob   = "FailJob"
	FailIndex = "FailIndex"
	Ignore    = "Ignore"
	Count     = "Count"
)

// FailureRule fits exit codes or conditions of a pod.
type FailureRule struct {
	Action          string         `yaml:"action"`
	OnExitCodes     *ExitCodes     `yaml:"onExitCodes,omitempty"`
	OnPodConditions []PodCondition `yaml:"onPodConditions,omitempty"`
}

// The operators of ExitCodes.
const (
	In    = "In"
	NotIn = "NotIn"
)

// ExitCodes is a set of exit codes of a container.
type ExitCodes struct {
	ContainerName string `yaml:"containerName,omitempty"`
	Operator      string `yaml:"operator"`
	Values        []int  `yaml:"values"`
}

// DisruptionTarget is the condition of a pod that Kubernetes ends: an eviction, a lost node.
const DisruptionTarget = "DisruptionTarget"

// PodCondition is a pattern of a condition. Status is True, False or Unknown.
type PodCondition struct {
	Type   string `yaml:"type"`
	Status string `yaml:"status"`
}
