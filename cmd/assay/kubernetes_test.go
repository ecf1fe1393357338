package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/cluster"
)

// kubernetesFiles is the folder with the example for Kubernetes.
const kubernetesFiles = "../../deploy/kubernetes"

func kubernetesFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubernetesFiles, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheExampleForKubernetesIsValid(t *testing.T) {
	for _, name := range []string{"nats.yaml", "run.yaml"} {
		if err := cluster.Validate(kubernetesFile(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The example is what the program prints.
func TestTheRenderedExampleIsCurrent(t *testing.T) {
	p := newReader(t)
	if err := os.CopyFS(filepath.Join(p.dir, "deploy/kubernetes"), os.DirFS(kubernetesFiles)); err != nil {
		t.Fatal(err)
	}
	const command = "assay render k8s deploy/kubernetes/plan.yaml --workers 40 --run example"
	c := p.shell(t.Context(), command)
	got, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(kubernetesFile(t, "run.yaml")), string(got)); d != "" {
		t.Errorf("%s > deploy/kubernetes/run.yaml writes it (-want +got):\n%s", command, d)
	}
}
