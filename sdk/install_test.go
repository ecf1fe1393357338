package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/testkit"
)

// install makes node_modules what package-lock.json says.
func install(ctx context.Context) error { return testkit.InstallNPM(ctx, ".") }

// build makes the program under dir and returns its path.
func build(ctx context.Context, dir string) (string, error) {
	if err := consult(ctx); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "assay")
	compile := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, "assay/cmd/assay")
	if out, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// consult opens every folder that the program and the calls are made from, so
// that the go command knows what this test's result depends on and does not
// take a cached one after a change.
func consult(ctx context.Context) error {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "assay/cmd/assay")
	var complaint bytes.Buffer
	list.Stderr = &complaint
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, complaint.Bytes())
	}
	for _, dir := range append(strings.Fields(string(out)), ".", "calls", "stdio") {
		if _, err := os.ReadDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func TestTheLockFileNamesNoRegistry(t *testing.T) {
	if err := testkit.CheckNPMLock("."); err != nil {
		t.Error(err)
	}
}
