package cluster_test

import (
	"strings"
	"testing"

	"assay/fakes/cluster"
)

// good is a Job that a test breaks.
const good = `apiVersion: batch/v1
kind: Job
metadata:
  name: good
spec:
  completionMode: Indexed
  completions: 3
  parallelism: 2
  backoffLimitPerIndex: 1
  podFailurePolicy:
    rules:
      - {action: FailJob, onExitCodes: {containerName: main, operator: In, values: [2, 3]}}
      - {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: tool
          args: [run]
          resources: {requests: {cpu: 250m, memory: 64Mi}}
          volumeMounts: [{name: files, mountPath: /etc/tool}]
      volumes:
        - name: files
          configMap: {name: files}
`

func TestAManifestIsReadAsAnAPIServerDoes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, to, want string }{
		"a good one":                            {"", "", ""},
		"a field that does not exist":           {"completions: 3", "completionz: 3", "completionz"},
		"a field in the wrong place":            {"      restartPolicy: Never", "      restartPolicy: Never\n      completions: 3", "completions"},
		"a text where a number belongs":         {"completions: 3", "completions: three", "completions"},
		"another version":                       {"batch/v1", "batch/v2", "apiVersion"},
		"a kind that is not served":             {"kind: Job", "kind: Jobs", `"Jobs"`},
		"no containers":                         {"containers:", "initContainers:", "containers"},
		"no name":                               {"  name: good", "  namespace: good", "metadata.name"},
		"a name with a capital":                 {"name: good", "name: Good", "RFC 1123"},
		"a restart that Jobs do not have":       {"restartPolicy: Never", "restartPolicy: Always", "restartPolicy"},
		"a policy with restarts":                {"restartPolicy: Never", "restartPolicy: OnFailure", "podFailurePolicy"},
		"a mode that does not exist":            {"completionMode: Indexed", "completionMode: indexed", "completionMode"},
		"a limit per index without indexes":     {"completionMode: Indexed", "completionMode: NonIndexed", "backoffLimitPerIndex"},
		"indexes without a number":              {"  completions: 3\n", "", "completions"},
		"an exit code of success":               {"values: [2, 3]", "values: [0, 3]", "0 is no exit code"},
		"exit codes without order":              {"values: [2, 3]", "values: [3, 2]", "in order"},
		"an operator that does not exist":       {"operator: In", "operator: Is", "operator"},
		"exit codes of nobody":                  {"containerName: main", "containerName: mian", `"mian"`},
		"an action that does not exist":         {"action: Ignore", "action: ignore", "action"},
		"a rule without a pattern":              {", onPodConditions: [{type: DisruptionTarget, status: 'True'}]", "", "either"},
		"an index that fails without a limit":   {"action: Ignore", "action: FailIndex", ""},
		"the same, without a limit per index":   {"  backoffLimitPerIndex: 1\n  podFailurePolicy:\n    rules:\n", "  podFailurePolicy:\n    rules:\n      - {action: FailIndex, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}\n", "FailIndex needs"},
		"a quantity without a unit of any kind": {"memory: 64Mi", "memory: 64MB", "quantity"},
		"a mount of nothing":                    {"- {name: files, mountPath", "- {name: file, mountPath", ""},
		"a mount without a volume":              {"[{name: files, mountPath", "[{name: flies, mountPath", `"flies"`},
		"a field that only Kubernetes knows":    {"restartPolicy: Never", "restartPolicy: Never\n      hostNetwork: true", "does not know"},
		"no YAML":                               {"kind: Job", "kind: [Job", "no YAML"},
		"a list":                                {good, "- a\n", "no object"},
		"twice the same":                        {good, good + "---\n" + good, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cluster.Read([]byte(strings.Replace(good, tt.from, tt.to, 1)))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "document ")):
				t.Errorf("got %v, want %q and the document in it", err, tt.want)
			}
		})
	}
}
