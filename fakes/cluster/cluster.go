package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"assay/internal/crash"
	"assay/internal/kube"
)

// Options are the settings of a cluster.
type Options struct {
	// Dir is a folder for the files and the logs of the pods.
	Dir string
	// Images are the programs of the container images: the entry point, and arguments that come
	// before those of the container.
	Images map[string][]string
	// Services are names of Services in the namespace, of which Kubernetes tells the pods by
	// variables such as ASSAY_GATEWAY_SERVICE_HOST, unless a pod does without.
	Services []string
	// Started is called when the process of a pod has started; nil is no call. It must not block.
	Started func(Pod)
}

// Cluster runs the Jobs that were applied. Its methods may be called at the same time.
type Cluster struct {
	o Options

	mu      sync.Mutex
	objects Objects
	changed chan struct{} // closed by the next Apply
	running map[string]*pod
}

// New returns a cluster without objects.
func New(o Options) *Cluster {
	return &Cluster{o: o, objects: newObjects(), changed: make(chan struct{}), running: map[string]*pod{}}
}

// Apply reads manifests, as Read does, and adds their objects. A ConfigMap that is immutable and
// a Job do not change any more.
func (c *Cluster) Apply(manifests []byte) error {
	more, err := Read(manifests)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range more.Jobs {
		if _, exists := c.objects.Jobs[name]; exists {
			return fmt.Errorf("the Job %q exists: the template of a Job is immutable", name)
		}
	}
	for name := range more.ConfigMaps {
		if c.objects.ConfigMaps[name].Immutable {
			return fmt.Errorf("the ConfigMap %q is immutable", name)
		}
	}
	c.objects.merge(more)
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// Jobs returns the names of the Jobs, sorted.
func (c *Cluster) Jobs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.objects.Jobs))
}

// RunAll runs all Jobs at the same time, until each is complete or failed, and returns their
// statuses by name. When ctx ends, it ends their pods, and returns the error of ctx.
func (c *Cluster) RunAll(ctx context.Context) (map[string]Status, error) {
	var mu sync.Mutex
	all, errs := map[string]Status{}, []error(nil)
	var wait sync.WaitGroup
	for _, name := range c.Jobs() {
		wait.Go(func() {
			defer crash.Catch()
			s, err := c.Run(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			all[name] = s
			errs = append(errs, err)
		})
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

// Evict ends a running pod as the drain of its node does: its process gets a SIGTERM, and a SIGKILL
// after the grace period, and the pod has the condition DisruptionTarget.
func (c *Cluster) Evict(name string) error {
	c.mu.Lock()
	p := c.running[name]
	c.mu.Unlock()
	if p == nil {
		return fmt.Errorf("no pod %q is running", name)
	}
	p.evict()
	return nil
}

func (c *Cluster) job(name string) (kube.Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, ok := c.objects.Jobs[name]
	if !ok {
		return j, fmt.Errorf("there is no Job %q", name)
	}
	return j, nil
}
