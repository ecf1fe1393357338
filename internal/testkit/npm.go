package testkit

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
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// npmLimit is what npm may take: the largest of our lists has 125 MB in 29 packages, 107 MB of them Bun.
const npmLimit = 3 * time.Minute

// npmStamp is the file that says which lock file node_modules was made from.
const npmStamp = "node_modules/.installed-from"

// ErrNoNode means that this machine cannot run npm or what it installs.
var ErrNoNode = errors.New("npm and node 20.18 or later are needed")

// InstallNPM makes node_modules in dir what package-lock.json says, if it is not yet.
// Several test runs may do so at the same time: the lock file is locked.
func InstallNPM(ctx context.Context, dir string) error {
	if err := checkNode(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrNoNode, err)
	}
	lock, err := lockedfile.Edit(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("lock package-lock.json: %w", err)
	}
	defer func() { _ = lock.Close() }() // closing releases the lock
	want, err := npmDigest(dir)
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, npmStamp)
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, npmLimit)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts")
	npm.Dir, npm.WaitDelay = dir, time.Second
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w (is the registry that npm is configured for reachable?)\n%s", err, out)
	}
	return os.WriteFile(stamp, []byte(want), 0o600)
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

// npmDigest is the SHA-256 of what decides the contents of node_modules.
func npmDigest(dir string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// CheckNPMLock returns what is wrong with the lock file in dir: one that names a registry
// ties everybody to it, and one without digests binds nobody.
func CheckNPMLock(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	switch {
	case err != nil:
		return err
	case bytes.Contains(text, []byte(`"resolved"`)):
		return errors.New("package-lock.json names where packages were downloaded: make it again in its folder, where .npmrc forbids that")
	case !bytes.Contains(text, []byte(`"integrity"`)):
		return errors.New("package-lock.json has no digests")
	}
	return nil
}
