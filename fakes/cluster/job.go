package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/kube"
)

// The conditions of a Job that has ended.
const (
	Complete = "Complete"
	Failed   = "Failed"
)

// Status is how a Job ended.
type Status struct {
	// Condition is Complete or Failed, and Reason says why it failed, in the words of Kubernetes:
	// PodFailurePolicy, BackoffLimitExceeded, MaxFailedIndexesExceeded, FailedIndexes,
	// DeadlineExceeded.
	Condition, Reason string
	// Completed and Failed are the indexes that succeeded and those that failed for good, sorted.
	Completed, Failed []int
	// Pods are all pods in the order in which they ended, with those that were replaced.
	Pods []Pod
}

// defaultBackoff is the backoffLimit of a Job that has none.
const defaultBackoff = 6

// controller is the run of one Job. Only its own goroutine uses it.
type controller struct {
	cluster *Cluster
	job     kube.Job
	spec    *kube.JobSpec
	status  Status

	pending  []int       // indexes without a pod
	failures map[int]int // by index
	counted  int         // failures of all
	made     int         // pods
	running  map[string]*pod
	ended    chan *pod
}

// Run runs the pods of a Job until it is complete or failed.
func (c *Cluster) Run(ctx context.Context, name string) (Status, error) {
	job, err := c.job(name)
	if err != nil {
		return Status{}, err
	}
	r := &controller{cluster: c, job: job, spec: &job.Spec, failures: map[int]int{}, running: map[string]*pod{}, ended: make(chan *pod)}
	for i := range number(r.spec.Completions, 1) {
		r.pending = append(r.pending, i)
	}
	deadline := (<-chan time.Time)(nil)
	if s := r.spec.ActiveDeadlineSeconds; s != nil {
		t := time.NewTimer(time.Duration(*s) * time.Second)
		defer t.Stop()
		deadline = t.C
	}
	for r.status.Condition == "" {
		if err := r.fill(); err != nil {
			r.drain()
			return r.status, err
		}
		select {
		case p := <-r.ended:
			r.settle(p)
			r.conclude()
		case <-deadline:
			r.fail("DeadlineExceeded")
		case <-ctx.Done():
			r.drain()
			return r.status, ctx.Err()
		}
	}
	r.drain()
	slices.Sort(r.status.Completed)
	slices.Sort(r.status.Failed)
	return r.status, nil
}

func number(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// fill starts pods up to the parallelism.
func (r *controller) fill() error {
	for len(r.running) < number(r.spec.Parallelism, 1) && len(r.pending) > 0 {
		index := r.pending[0]
		r.pending = r.pending[1:]
		p, err := r.cluster.start(&r.job, Pod{Name: fmt.Sprintf("%s-%d-%d", r.job.Metadata.Name, index, r.made), Job: r.job.Metadata.Name, Index: index}, r.ended)
		if err != nil {
			return err
		}
		r.made++
		r.running[p.Name] = p
	}
	return nil
}

// settle counts a pod that has ended.
func (r *controller) settle(p *pod) {
	delete(r.running, p.Name)
	r.status.Pods = append(r.status.Pods, p.Pod)
	if p.Exit == 0 {
		r.status.Completed = append(r.status.Completed, p.Index)
		return
	}
	switch r.action(&p.Pod) {
	case kube.FailJob:
		r.fail("PodFailurePolicy")
	case kube.FailIndex:
		r.status.Failed = append(r.status.Failed, p.Index)
	case kube.Ignore:
		r.pending = append(r.pending, p.Index)
	default:
		r.count(p.Index)
	}
}

// count counts a failure towards the limit of the index, or else of the Job.
func (r *controller) count(index int) {
	r.counted++
	r.failures[index]++
	each := r.spec.BackoffLimitPerIndex
	switch {
	case each != nil && r.failures[index] > *each:
		r.status.Failed = append(r.status.Failed, index)
	case each == nil && r.counted > number(r.spec.BackoffLimit, defaultBackoff):
		r.fail("BackoffLimitExceeded")
	default:
		r.pending = append(r.pending, index)
	}
	slices.Sort(r.pending)
}

// action returns the action of the first rule that fits.
func (r *controller) action(p *Pod) string {
	if r.spec.PodFailurePolicy == nil {
		return kube.Count
	}
	for _, rule := range r.spec.PodFailurePolicy.Rules {
		if fits(&rule, p) {
			return rule.Action
		}
	}
	return kube.Count
}

func fits(rule *kube.FailureRule, p *Pod) bool {
	if e := rule.OnExitCodes; e != nil {
		return slices.Contains(e.Values, p.Exit) == (e.Operator == kube.In)
	}
	return slices.ContainsFunc(rule.OnPodConditions, func(c kube.PodCondition) bool {
		return c.Type == kube.DisruptionTarget && p.Disrupted && c.Status == "True"
	})
}

// conclude ends the Job when each index has succeeded or failed.
func (r *controller) conclude() {
	most := r.spec.MaxFailedIndexes
	switch {
	case r.status.Condition != "":
	case most != nil && len(r.status.Failed) > *most:
		r.fail("MaxFailedIndexesExceeded")
	case len(r.pending)+len(r.running) > 0:
	case len(r.status.Failed) > 0:
		r.fail("FailedIndexes")
	default:
		r.status.Condition = Complete
	}
}

func (r *controller) fail(reason string) { r.status.Condition, r.status.Reason = Failed, reason }

// drain ends the pods that still run.
func (r *controller) drain() {
	for _, p := range r.running {
		p.stop()
	}
	for len(r.running) > 0 {
		p := <-r.ended
		delete(r.running, p.Name)
		r.status.Pods = append(r.status.Pods, p.Pod)
	}
}
