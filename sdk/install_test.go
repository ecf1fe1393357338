package sdk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// installLimit is what npm may take: there are 23 MB in 28 packages.
const installLimit = 3 * time.Minute

// stampName is the file that says which lock file node_modules was made from.
const stampName = "node_modules/.installed-from"

// errNoNode means that this machine cannot run the packages.
var errNoNode = errors.New("npm and node 20.18 or later are needed")

// install makes node_modules what package-lock.json says, if it is not yet.
// Several test runs may do so at the same time: the lock file is locked.
func install(ctx context.Context) error {
	if err := checkNode(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoNode, err)
	}
	lock, err := os.Open("package-lock.json")
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock package-lock.json: %w", err)
	}
	want, err := lockDigest()
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(stampName); err == nil && string(have) == want {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts")
	npm.WaitDelay = time.Second
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w (is the registry that npm is configured for reachable?)\n%s", err, out)
	}
	return os.WriteFile(stampName, []byte(want), 0o644)
}

// checkNode wants npm, and a node that the packages run on.
func checkNode(ctx context.Context) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("node --version says %q: %w", out, err)
	}
	if major < 20 || major == 20 && minor < 18 {
		return fmt.Errorf("node is %s", bytes.TrimSpace(out))
	}
	return nil
}

// lockDigest is the SHA-256 of what decides the contents of node_modules.
func lockDigest() (string, error) {
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// build makes the program under dir and returns its path.
func build(ctx context.Context, dir string) (string, error) {
	if err := consult(ctx); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "assay")
	compile := exec.CommandContext(ctx, "go", "build", "-o", path, "assay/cmd/assay")
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

// A lock file that names a registry ties everybody to it.
func TestTheLockFileNamesNoRegistry(t *testing.T) {
	text, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(`"resolved"`)) {
		t.Error("package-lock.json names where packages were downloaded: make it again in this folder, where .npmrc forbids that")
	}
	if !bytes.Contains(text, []byte(`"integrity"`)) {
		t.Error("package-lock.json has no digests")
	}
}
