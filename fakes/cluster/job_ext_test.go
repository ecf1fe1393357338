package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/cluster"
	"assay/internal/testkit"
)

// job is a Job of three indexes whose container runs a script.
func job(spec, script string) string {
	const margin = "              "
	lines := margin + strings.ReplaceAll(script, "\n", "\n"+margin)
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  completionMode: Indexed
  completions: 3
  parallelism: 3
%s  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: shell
          args:
            - |
%s
`, spec, lines)
}

func newCluster(t *testing.T, o cluster.Options) *cluster.Cluster {
	t.Helper()
	o.Dir = t.TempDir()
	o.Images = map[string][]string{"shell": {"sh", "-c"}}
	return cluster.New(o)
}

func apply(t *testing.T, c *cluster.Cluster, manifest string) {
	t.Helper()
	if err := c.Apply([]byte(manifest)); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
}

// outcome is the comparable part of a status: which indexes, and the exit codes by index.
type outcome struct {
	Condition, Reason string
	Completed, Failed []int
	Pods              int
}

func TestAJobEndsAsItsPolicySays(t *testing.T) {
	t.Parallel()
	const fourth = "if [ $JOB_COMPLETION_INDEX = 1 ]; then exit 4; fi"
	// once fails in the first attempt of an index, as the folder tells that all pods of a test share.
	once := func(code int) string {
		return fmt.Sprintf("if [ $JOB_COMPLETION_INDEX = 1 ] && mkdir ../once 2>/dev/null; then exit %d; fi", code)
	}
	for name, tt := range map[string]struct {
		spec, script string
		want         outcome
	}{
		"all succeed": {"", "true", outcome{cluster.Complete, "", []int{0, 1, 2}, nil, 3}},
		"an index fails for good": {
			"  backoffLimitPerIndex: 0\n", fourth,
			outcome{cluster.Failed, "FailedIndexes", []int{0, 2}, []int{1}, 3},
		},
		"an index is tried again": {
			"  backoffLimitPerIndex: 1\n", once(4),
			outcome{cluster.Complete, "", []int{0, 1, 2}, nil, 4},
		},
		"an index is tried again, once": {
			"  backoffLimitPerIndex: 1\n", fourth,
			outcome{cluster.Failed, "FailedIndexes", []int{0, 2}, []int{1}, 4},
		},
		"a rule fails the index at once": {
			"  backoffLimitPerIndex: 5\n  podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [4]}}]}\n", fourth,
			outcome{cluster.Failed, "FailedIndexes", []int{0, 2}, []int{1}, 3},
		},
		"a rule ignores a failure": {
			"  backoffLimitPerIndex: 0\n  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: NotIn, values: [0, 5]}}]}\n", once(4),
			outcome{cluster.Complete, "", []int{0, 1, 2}, nil, 4},
		},
		"the first rule that fits decides": {
			"  backoffLimitPerIndex: 0\n  podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [4]}}, {action: Ignore, onExitCodes: {operator: In, values: [4]}}]}\n", once(4),
			outcome{cluster.Failed, "FailedIndexes", []int{0, 2}, []int{1}, 3},
		},
		"too many indexes fail": {
			"  backoffLimitPerIndex: 0\n  maxFailedIndexes: 0\n", "[ $JOB_COMPLETION_INDEX = 1 ] && exit 4; exec sleep 600",
			outcome{cluster.Failed, "MaxFailedIndexesExceeded", nil, []int{1}, 3},
		},
		"without a limit per index, failures of all are counted": {
			"  backoffLimit: 2\n  parallelism: 1\n", fourth,
			outcome{cluster.Failed, "BackoffLimitExceeded", []int{0}, nil, 4},
		},
		"a rule fails the Job, and ends the others": {
			"  backoffLimitPerIndex: 0\n  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: main, operator: In, values: [2]}}]}\n",
			"[ $JOB_COMPLETION_INDEX = 1 ] && exit 2; exec sleep 600",
			outcome{cluster.Failed, "PodFailurePolicy", nil, nil, 3},
		},
		"a Job ends at its deadline": {
			"  activeDeadlineSeconds: 1\n", "exec sleep 600",
			outcome{cluster.Failed, "DeadlineExceeded", nil, nil, 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, cluster.Options{})
			manifest := job(tt.spec, tt.script)
			if strings.Contains(tt.spec, "parallelism: 1") {
				manifest = strings.Replace(manifest, "  parallelism: 3\n", "", 1)
			}
			apply(t, c, manifest)
			s, err := c.Run(t.Context(), "j")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, outcome{s.Condition, s.Reason, s.Completed, s.Failed, len(s.Pods)}); d != "" {
				t.Errorf("(-want +got)\n%s\n%+v", d, s)
			}
		})
	}
}

func TestNoMorePodsRunThanTheParallelism(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cluster.Options{})
	// A second pod at the same time cannot make the folder.
	apply(t, c, strings.Replace(job("  backoffLimitPerIndex: 0\n", "mkdir ../one && rmdir ../one"), "parallelism: 3", "parallelism: 1", 1))
	s, err := c.Run(t.Context(), "j")
	if err != nil || s.Condition != cluster.Complete {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAPodIsEvicted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule, script string
		want         outcome
		exit         int
	}{
		"its index fails": {
			"{action: FailIndex, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}", "echo up > ../up; exec sleep 600",
			outcome{cluster.Failed, "FailedIndexes", []int{0, 2}, []int{1}, 3}, 128 + 15,
		},
		"it is replaced": {
			"{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}", "mkdir ../once 2>/dev/null || exit 0; echo up > ../up; exec sleep 600",
			outcome{cluster.Complete, "", []int{0, 1, 2}, nil, 4}, 128 + 15,
		},
		"it does not end by itself": {
			"{action: FailIndex, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}", "trap '' TERM; echo up > ../up; exec sleep 600",
			outcome{cluster.Failed, "FailedIndexes", []int{0, 2}, []int{1}, 3}, 128 + 9,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := make(chan cluster.Pod, 8)
			c := newCluster(t, cluster.Options{Started: func(p cluster.Pod) { started <- p }})
			script := "[ $JOB_COMPLETION_INDEX = 1 ] || exit 0; " + tt.script
			manifest := job("  backoffLimitPerIndex: 0\n  podFailurePolicy: {rules: ["+tt.rule+"]}\n", script)
			apply(t, c, strings.Replace(manifest, "restartPolicy: Never", "restartPolicy: Never\n      terminationGracePeriodSeconds: 1", 1))
			var s cluster.Status
			var err error
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s, err = c.Run(t.Context(), "j")
			}()
			p := <-started
			for p.Index != 1 {
				p = <-started
			}
			testkit.Eventually(t, func() error { // the script says that it may be evicted
				_, err := os.Stat(strings.TrimSuffix(p.Log, p.Name+".log") + "up")
				return err
			})
			_ = c.Evict(p.Name)
			<-ended
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, outcome{s.Condition, s.Reason, s.Completed, s.Failed, len(s.Pods)}); d != "" {
				t.Errorf("(-want +got)\n%s\n%+v", d, s)
			}
			for _, p := range s.Pods {
				if p.Disrupted && p.Exit != tt.exit {
					t.Errorf("exit code %d, want %d", p.Exit, tt.exit)
				}
			}
		})
	}
}

const withSecret = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: files}
immutable: true
data: {plan.yaml: "a plan\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
type: Opaque
data: {token: Zmlyc3Q=, creds: c2Vjb25k}
`

const mounting = `apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      restartPolicy: Never
      enableServiceLinks: false
      containers:
        - name: main
          image: shell
          args:
            - "cat /etc/tool/plan.yaml $1; echo $TOKEN $JOB_COMPLETION_INDEX $NONE. $(JOB_COMPLETION_INDEX) '$$(JOB_COMPLETION_INDEX)' $ASSAY_GATEWAY_SERVICE_HOST; ls -a ${1%/*}"
            - x
            - /run/tool/creds.txt
          env:
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: keys, key: token}}}
            - {name: NONE, valueFrom: {secretKeyRef: {name: keys, key: none, optional: true}}}
          volumeMounts: [{name: files, mountPath: /etc/tool}, {name: secrets, mountPath: /run/tool}]
      volumes:
        - name: files
          configMap: {name: files}
        - name: secrets
          secret: {secretName: keys, defaultMode: 0440, items: [{key: creds, path: creds.txt}]}
`

func TestAPodHasItsVolumesAndVariables(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cluster.Options{Services: []string{"assay-gateway"}})
	apply(t, c, mounting)
	ended := make(chan cluster.Status)
	go func() {
		s, err := c.Run(context.WithoutCancel(t.Context()), "j")
		if err != nil {
			t.Error(err)
		}
		ended <- s
	}()
	// The pod waits for each.
	objects := strings.Split(withSecret, "---\n")
	apply(t, c, objects[1])
	apply(t, c, strings.Replace(objects[2], "creds: c2Vjb25k", "other: Zmlyc3Q=", 1))
	apply(t, c, objects[2])
	s := <-ended
	if s.Condition != cluster.Complete {
		t.Errorf("%+v", s)
	}
	log, err := os.ReadFile(s.Pods[0].Log)
	if err != nil {
		t.Fatal(err)
	}
	if want := "a plan\nsecondfirst 0 . 0 $(JOB_COMPLETION_INDEX)\n.\n..\n..data\n..first\ncreds.txt\n"; !strings.HasSuffix(string(log), want) {
		t.Errorf("the pod said %q, want %q", log, want)
	}
}

func TestAnObjectThatExistsDoesNotChange(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cluster.Options{})
	apply(t, c, mounting+withSecret)
	for _, again := range []string{mounting, withSecret} {
		if err := c.Apply([]byte(again)); err == nil || !strings.Contains(err.Error(), "immutable") {
			t.Errorf("%v", err)
		}
	}
}

func TestAnUnknownImageIsAnError(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cluster.Options{})
	apply(t, c, strings.Replace(job("", "true"), "image: shell", "image: registry/shell:1", 1))
	if _, err := c.RunAll(t.Context()); err == nil || !strings.Contains(err.Error(), `no image "registry/shell:1"`) {
		t.Errorf("%v", err)
	}
	if _, err := c.Run(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), `"k"`) {
		t.Errorf("%v", err)
	}
	if err := c.Evict("none"); err == nil {
		t.Error("a pod that does not run was evicted")
	}
}

func TestTheEndOfTheContextEndsThePods(t *testing.T) {
	t.Parallel()
	started := make(chan cluster.Pod, 3)
	c := newCluster(t, cluster.Options{Started: func(p cluster.Pod) { started <- p }})
	apply(t, c, job("", "exec sleep 600"))
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-started; stop() }()
	all, err := c.RunAll(ctx)
	if !errors.Is(err, context.Canceled) || len(all["j"].Pods) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}
