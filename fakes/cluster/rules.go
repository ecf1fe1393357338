package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"assay/internal/kube"
)

var (
	name     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	value    = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)
	quantity = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)
)

// longest is the most characters of a name that becomes a label or the name of a host.
const longest = 63

func checkName(m kube.Meta) error {
	if len(m.Name) > longest || !name.MatchString(m.Name) {
		return fmt.Errorf("metadata.name %q: want a label of RFC 1123", m.Name)
	}
	if m.Namespace != "" && !name.MatchString(m.Namespace) {
		return fmt.Errorf("metadata.namespace %q: want a label of RFC 1123", m.Namespace)
	}
	return checkLabels(m.Labels)
}

func checkLabels(labels map[string]string) error {
	for key, v := range labels {
		if len(v) > longest || !value.MatchString(v) {
			return fmt.Errorf("label %s: %q is no value of a label", key, v)
		}
	}
	return nil
}

// check checks a Job as the API server does, beyond the schema.
func check(j *kube.Job) error {
	s := &j.Spec
	if err := errors.Join(checkName(j.Metadata), checkLabels(s.Template.Metadata.Labels)); err != nil {
		return err
	}
	pod := &s.Template.Spec
	indexed := s.CompletionMode == "Indexed"
	switch {
	case pod.RestartPolicy != "Never" && pod.RestartPolicy != "OnFailure":
		return fmt.Errorf("spec.template.spec.restartPolicy %q: want Never or OnFailure", pod.RestartPolicy)
	case s.CompletionMode != "" && !indexed && s.CompletionMode != "NonIndexed":
		return fmt.Errorf("spec.completionMode %q: want Indexed or NonIndexed", s.CompletionMode)
	case indexed && s.Completions == nil:
		return errors.New("spec.completions is required when the completion mode is Indexed")
	case !indexed && (s.BackoffLimitPerIndex != nil || s.MaxFailedIndexes != nil):
		return errors.New("spec.backoffLimitPerIndex and maxFailedIndexes are for the completion mode Indexed")
	case s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil:
		return errors.New("spec.maxFailedIndexes needs backoffLimitPerIndex")
	case s.PodFailurePolicy != nil && pod.RestartPolicy != "Never":
		return errors.New("spec.podFailurePolicy is only for the restart policy Never")
	case indexed && len(fmt.Sprintf("%s-%d", j.Metadata.Name, *s.Completions-1)) > longest:
		return errors.New("metadata.name is too long for the names of the hosts of the pods")
	case len(pod.Containers) != 1:
		return fmt.Errorf("%d containers: this cluster runs pods of one", len(pod.Containers))
	}
	for _, n := range []*int{s.Completions, s.Parallelism, s.BackoffLimit, s.BackoffLimitPerIndex, s.MaxFailedIndexes, s.TTLSecondsAfterFinished} {
		if n != nil && *n < 0 {
			return fmt.Errorf("spec has a negative number: %d", *n)
		}
	}
	return errors.Join(checkPolicy(s, &pod.Containers[0]), checkContainer(pod))
}

func checkPolicy(s *kube.JobSpec, c *kube.Container) error {
	if s.PodFailurePolicy == nil {
		return nil
	}
	for i, r := range s.PodFailurePolicy.Rules {
		place := fmt.Sprintf("spec.podFailurePolicy.rules[%d]", i)
		if !slices.Contains([]string{kube.FailJob, kube.FailIndex, kube.Ignore, kube.Count}, r.Action) {
			return fmt.Errorf("%s.action %q is none", place, r.Action)
		}
		if r.Action == kube.FailIndex && s.BackoffLimitPerIndex == nil {
			return fmt.Errorf("%s: FailIndex needs backoffLimitPerIndex", place)
		}
		if (r.OnExitCodes == nil) == (len(r.OnPodConditions) == 0) {
			return fmt.Errorf("%s: want either onExitCodes or onPodConditions", place)
		}
		if e := r.OnExitCodes; e != nil {
			if err := checkCodes(e, c); err != nil {
				return fmt.Errorf("%s.onExitCodes: %w", place, err)
			}
		}
	}
	return nil
}

func checkCodes(e *kube.ExitCodes, c *kube.Container) error {
	switch {
	case e.Operator != kube.In && e.Operator != kube.NotIn:
		return fmt.Errorf("operator %q: want In or NotIn", e.Operator)
	case len(e.Values) == 0 || len(e.Values) > 255:
		return fmt.Errorf("%d values: want 1 to 255", len(e.Values))
	case !slices.IsSorted(e.Values) || len(slices.Compact(slices.Clone(e.Values))) != len(e.Values):
		return fmt.Errorf("values %v: want them in order, each once", e.Values)
	case e.Operator == kube.In && slices.Contains(e.Values, 0):
		return errors.New("0 is no exit code of a failure, so it cannot be In")
	case e.ContainerName != "" && e.ContainerName != c.Name:
		return fmt.Errorf("there is no container %q", e.ContainerName)
	}
	return nil
}

func checkContainer(pod *kube.PodSpec) error {
	c := &pod.Containers[0]
	if c.Image == "" || !name.MatchString(c.Name) {
		return fmt.Errorf("container %q with the image %q: want a name and an image", c.Name, c.Image)
	}
	if r := c.Resources; r != nil {
		for _, all := range []map[string]string{r.Requests, r.Limits} {
			for key, q := range all {
				if !quantity.MatchString(q) {
					return fmt.Errorf("resources: %s %q is no quantity", key, q)
				}
			}
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			return fmt.Errorf("volumeMounts: there is no volume %q", m.Name)
		}
	}
	return nil
}
