package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/docs/examples/plugin-handshake/service"
	"assay/internal/testkit"
)

// reader is the folder of somebody who follows a page.
type reader struct {
	t         *testing.T
	dir       string
	addresses map[string]string // of the started servers, by those in the text
	shown     strings.Builder   // by the commands of the last sh block
	ran       int
}

// newPage makes the folder, with docs/examples and the program, as assay in PATH and as bin/assay.
func newReader(t *testing.T) *reader {
	t.Helper()
	p := &reader{t: t, dir: t.TempDir(), addresses: map[string]string{}}
	if err := os.CopyFS(filepath.Join(p.dir, "docs", "examples"), os.DirFS("../../docs/examples")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binWithProgram(t), filepath.Join(p.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	return p
}

// fileName is the first line of a block that is a file.
var fileName = regexp.MustCompile(`^# ([\w./-]+\.ya?ml)(,.*)?\n`)

// write writes a block whose first line names a file. A file of docs/examples must be the same.
func (p *reader) write(b block) {
	m := fileName.FindStringSubmatch(b.text)
	if m == nil {
		p.t.Errorf("line %d: the first line of the block names no file", b.line)
		return
	}
	if !filepath.IsLocal(m[1]) {
		p.t.Fatalf("line %d: %s is outside of the folder", b.line, m[1])
	}
	path := filepath.Join(p.dir, m[1])
	if strings.HasPrefix(m[1], "docs/examples/") {
		if example, err := os.ReadFile(path); err != nil || string(example) != b.text { //nolint:gosec // in the folder of the test
			p.t.Errorf("line %d: the block is not the same as %s: %v", b.line, m[1], err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // of the test
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(p.actual(b.text)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

var (
	// exitNote is the exit code that a comment expects.
	exitNote = regexp.MustCompile(`  # exit ([0-9]+)`)
	// address is an address at which a page expects a server.
	address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	// listens are the flags of the addresses of a server, in the order in which it prints its URLs.
	listens = regexp.MustCompile(`--(listen|issuer) (127\.0\.0\.1:[0-9]+)`)
	// builds are commands that build or test this repository: the program under test is already built.
	builds = regexp.MustCompile(`^(make|go build|go test|go install) `)
)

const (
	runAssay = "go run ./cmd/assay "
	runHost  = "go run ./docs/examples/plugin-handshake "
)

// run does what a line of an sh block says.
func (p *reader) run(b block, l logicalLine) {
	command, _, _ := strings.Cut(l.text, "  # ")
	command = strings.TrimSpace(strings.Replace(command, runAssay, "assay ", 1))
	server, background := strings.CutSuffix(command, " &")
	switch {
	case command == "" || strings.HasPrefix(command, "#") || builds.MatchString(command):
	case background && strings.HasPrefix(server, runHost):
		p.host(l.line, strings.Fields(strings.TrimPrefix(server, runHost)))
	case background:
		p.server(l.line, server)
	default:
		want := 0
		if m := exitNote.FindStringSubmatch(l.text); m != nil {
			want, _ = strconv.Atoi(m[1])
		}
		if b.command != "" && strings.Contains(command, "assay "+b.command) {
			command = withFlags(command, b.flags)
		}
		p.command(l.line, command, want)
	}
}

// flagName is a flag of a command line.
var flagName = regexp.MustCompile(`--[a-z-]+`)

// withFlags returns a command with other flags; they replace those that it has.
func withFlags(command, flags string) string {
	for _, name := range flagName.FindAllString(flags, -1) {
		command = regexp.MustCompile(" "+name+` ('[^']*'|\S+)`).ReplaceAllString(command, "")
	}
	return command + " " + flags
}

// command runs a line in a shell.
func (p *reader) command(line int, text string, want int) {
	for _, tool := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil && strings.Contains(text, tool+" ") {
			p.t.Logf("line %d is not run, because %s is not installed: make debian", line, tool)
			return
		}
	}
	actual := p.actual(text)
	for _, a := range address.FindAllString(text, -1) {
		if p.addresses[a] == "" {
			p.t.Errorf("line %d: no command of the page starts a server at %s", line, a)
			return
		}
	}
	c := p.shell(p.t.Context(), actual)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := c.ProcessState.ExitCode(); got != want {
		p.t.Errorf("line %d: %s: exit code %d, want %d\n%s", line, actual, got, want, out)
	}
	said := string(out)
	for written, actual := range p.addresses {
		said = strings.ReplaceAll(said, actual, written)
	}
	p.shown.WriteString(said)
	p.ran++
}

// actual returns a text with the addresses of the started servers.
func (p *reader) actual(text string) string {
	return address.ReplaceAllStringFunc(text, func(written string) string {
		if a := p.addresses[written]; a != "" {
			return a
		}
		return written
	})
}

func (p *reader) shell(ctx context.Context, text string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", text)
	c.Dir = p.dir
	c.Env = append(os.Environ(), "HOME="+p.dir, "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"),
		"COLUMNS=120", "NO_COLOR=1", "ASSAY_TIME_SCALE="+strconv.Itoa(testkit.Slowdown))
	return c
}

// server starts a gateway on free ports; later commands find it there.
func (p *reader) server(line int, text string) {
	var written []string
	for _, m := range listens.FindAllStringSubmatch(text, -1) {
		written = append(written, m[2])
	}
	if len(written) == 0 {
		p.t.Fatalf("line %d: %q says no address", line, text)
	}
	c := p.shell(p.t.Context(), "exec "+listens.ReplaceAllString(text, "--$1 127.0.0.1:0"))
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 30 * time.Second
	out, err := c.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Wait() })
	lines := bufio.NewReader(out)
	for _, w := range written {
		url, err := lines.ReadString('\n')
		if err != nil {
			_ = c.Wait()
			p.t.Fatalf("line %d: %s printed no URL: %v\n%s", line, text, err, said.String())
		}
		p.addresses[w] = address.FindString(url)
	}
}

// host starts the plugin host of the example on a free port.
func (p *reader) host(line int, args []string) {
	written := ""
	for i, a := range args {
		if a == "--listen" {
			written, args[i+1] = args[i+1], "127.0.0.1:0"
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	url, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- service.Main(ctx, args, out) }()
	p.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			p.t.Errorf("the host ended with %v", err)
		}
	})
	printed, err := bufio.NewReader(url).ReadString('\n')
	if err != nil || written == "" {
		p.t.Fatalf("line %d: the host printed no URL: %v", line, err)
	}
	p.addresses[written] = address.FindString(printed)
}
