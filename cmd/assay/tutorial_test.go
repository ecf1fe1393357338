package main

import (
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

	"assay/docs/examples/plugin-handshake/service"
)

// TestTheTutorialRuns does what docs/scenarios.md tells its reader, in an empty folder: it writes the
// YAML blocks to the files that their first lines name, runs the commands, and compares exit codes
// and the shown lines.
func TestTheTutorialRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &tutorial{t: t, dir: t.TempDir(), addresses: map[string]string{}}
	for _, b := range blocksOf(string(text)) {
		switch b.kind {
		case "yaml":
			r.write(b)
		case "sh":
			r.shown.Reset()
			for line := range strings.Lines(b.text) {
				r.command(b.line, strings.TrimSpace(line))
			}
		case "text":
			r.compare(b)
		default:
			t.Errorf("line %d: a block of kind %q, which this test does not know", b.line, b.kind)
		}
	}
	if r.ran < 15 {
		t.Errorf("%d commands ran, want at least 15", r.ran)
	}
}

// block is a fenced block of a Markdown file.
type block struct {
	line       int
	kind, text string
}

func blocksOf(text string) []block {
	var out []block
	var in *block
	n := 0
	for line := range strings.Lines(text) {
		n++
		kind, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && in == nil:
			in = &block{line: n, kind: kind}
		case fence:
			out = append(out, *in)
			in = nil
		case in != nil:
			in.text += line
		}
	}
	return out
}

// tutorial is a run of the tutorial.
type tutorial struct {
	t         *testing.T
	dir       string
	addresses map[string]string // of the started hosts, by those in the text
	shown     strings.Builder   // by the commands of the last block
	ran       int
}

func (r *tutorial) write(b block) {
	first, _, _ := strings.Cut(b.text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if !ok || !strings.HasSuffix(name, ".yaml") || !filepath.IsLocal(name) {
		r.t.Fatalf("line %d: the first line %q names no file", b.line, first)
	}
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// exitNote is the exit code that a comment expects.
var exitNote = regexp.MustCompile(`# exit ([0-9]+)`)

func (r *tutorial) command(line int, text string) {
	command, note, _ := strings.Cut(text, "  #")
	words := strings.Fields(command)
	switch {
	case len(words) == 0:
	case strings.HasPrefix(command, "go run ./docs/examples/plugin-handshake "):
		r.host(words[3:])
	case words[0] == "assay":
		want := 0
		if m := exitNote.FindStringSubmatch("#" + note); m != nil {
			want, _ = strconv.Atoi(m[1])
		}
		r.assay(line, words[1:], want)
	default:
		r.t.Errorf("line %d: %q is no command that this test can run", line, text)
	}
}

// host starts the plugin host on a free port; later commands find it there.
func (r *tutorial) host(args []string) {
	written := ""
	for i, a := range args {
		if a == "--listen" {
			written, args[i+1] = args[i+1], "127.0.0.1:0"
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	url, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- service.Main(ctx, args[:len(args)-1], out) }() // without &
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Errorf("the host ended with %v", err)
		}
	})
	var p [256]byte
	n, err := url.Read(p[:])
	if err != nil || written == "" {
		r.t.Fatalf("the host printed no URL: %v", err)
	}
	r.addresses[written] = strings.TrimPrefix(strings.TrimSpace(string(p[:n])), "http://")
}

func (r *tutorial) assay(line int, args []string, want int) {
	for i := range args {
		for written, actual := range r.addresses {
			args[i] = strings.ReplaceAll(args[i], written, actual)
		}
	}
	c := exec.Command(os.Args[0], args...) //nolint:gosec // the test's own binary
	c.Env = append(os.Environ(), beProgram+"=1", "HOME="+r.t.TempDir(), "COLUMNS=120", "NO_COLOR=1", "ASSAY_TIME_SCALE="+strconv.Itoa(slowdown))
	c.Dir = r.dir
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if got := c.ProcessState.ExitCode(); got != want {
		r.t.Errorf("line %d: assay %s: exit code %d, want %d\n%s", line, strings.Join(args, " "), got, want, out)
	}
	said := string(out)
	for written, actual := range r.addresses {
		said = strings.ReplaceAll(said, actual, written)
	}
	r.shown.WriteString(said)
	r.ran++
}

// compare requires that the commands printed each line, one after the other; … is any text.
func (r *tutorial) compare(b block) {
	rest := strings.Join(strings.Fields(r.shown.String()), " ")
	for line := range strings.Lines(b.text) {
		want := strings.NewReplacer(" … ", " .*?", "…", ".*?").Replace(regexp.QuoteMeta(strings.Join(strings.Fields(line), " ")))
		at := regexp.MustCompile(want).FindStringIndex(rest)
		if at == nil {
			r.t.Errorf("line %d: the commands before it do not print %q\n%s", b.line, strings.TrimSpace(line), r.shown.String())
			return
		}
		rest = rest[at[1]:]
	}
}
