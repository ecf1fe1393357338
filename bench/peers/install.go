//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is a peer from the Go module proxy.
type module struct{ name, path, version string }

func modules() []module {
	return []module{
		{"fortio", "fortio.org/fortio", "v1.66.0"},
		{"ghz", "github.com/bojand/ghz/cmd/ghz", "v0.121.0"},
		{"k6", "go.k6.io/k6", "v1.8.1"},
	}
}

// packages maps the programs of peers to their Debian packages.
func packages() map[string]string {
	return map[string]string{"h2load": "nghttp2-client", "wrk": "wrk"}
}

// install installs every missing peer, and returns those that failed, with the reason.
func (b *bench) install(ctx context.Context) (missing map[string]string, err error) {
	missing = map[string]string{}
	if err := b.write(); err != nil {
		return nil, err
	}
	for _, name := range []string{"connectgo", "nethttp", "pacer", "websocket"} {
		if err := b.quiet(ctx, nil, "go", "build", "-o", b.tool(name), "./bench/clients/"+name); err != nil {
			return nil, err
		}
	}
	for _, m := range modules() {
		if _, err := os.Stat(b.tool(m.name)); err == nil {
			continue
		}
		b.sayf("installing %s %s", m.name, m.version)
		if err := b.quiet(ctx, []string{"GOBIN=" + b.tools, "GOFLAGS="}, "go", "install", m.path+"@"+m.version); err != nil {
			missing[m.name] = fmt.Sprintf("%s@%s cannot be built: %v", m.path, m.version, err)
		}
	}
	for name, pkg := range packages() {
		if err := b.fromDebian(ctx, name, pkg); err != nil {
			missing[name] = err.Error()
		}
	}
	return missing, b.without(missing)
}

// without reports the missing peers; if CI is set, it returns an error.
func (b *bench) without(missing map[string]string) error {
	for name, why := range missing {
		b.sayf("MISSING %s: %s", name, why)
	}
	if len(missing) > 0 && os.Getenv("CI") != "" {
		return errors.New("peers are missing, and CI is set: the comparison needs all of them")
	}
	return nil
}

// fromDebian links a program into the tools, and installs its Debian package first if needed.
func (b *bench) fromDebian(ctx context.Context, name, pkg string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Geteuid() != 0 {
			return fmt.Errorf("not installed, and apt-get install %s needs root", pkg)
		}
		b.sayf("installing %s", pkg)
		if err := b.quiet(ctx, nil, "apt-get", "update"); err != nil {
			return err
		}
		if err := b.quiet(ctx, nil, "apt-get", "install", "-y", "--no-install-recommends", pkg); err != nil {
			return err
		}
		if path, err = exec.LookPath(name); err != nil {
			return err
		}
	}
	if err := os.Symlink(path, b.tool(name)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// quiet runs a program and shows its output only in the error.
func (b *bench) quiet(ctx context.Context, env []string, argv ...string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, last(out))
	}
	return nil
}

// versions lists the machine and the version of each tool.
func (b *bench) versions(ctx context.Context) []string {
	kernel := "of unknown version"
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(text))
	}
	lines := []string{machine(kernel)}
	for _, v := range []struct{ name, flag string }{{"wrk", "-v"}, {"h2load", "--version"}} {
		out, _ := exec.CommandContext(ctx, b.tool(v.name), v.flag).CombinedOutput() // wrk prints its version and fails
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if line == "" {
			line = v.name + ": missing"
		}
		lines = append(lines, line)
	}
	for _, m := range modules() {
		lines = append(lines, m.name+" "+m.version)
	}
	return append(lines, "connect-go, net/http and coder/websocket: as in go.mod")
}

// write writes the input files of the tools.
func (b *bench) write() error {
	for _, dir := range []string{b.tools, b.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	entries, err := files.ReadDir("files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := files.ReadFile("files/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.file(e.Name()), text, 0o600); err != nil {
			return err
		}
	}
	body := append([]byte{0, 0, 0, 0, byte(len(message))}, message...)
	return os.WriteFile(filepath.Join(b.dir, "start.bin"), body, 0o600)
}
