package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheDocsRun does what README.md and each page of docs tell their reader, in an empty folder: it
// writes the YAML blocks that begin with the comment of a file name, starts the servers, runs the commands of the
// sh blocks, and compares exit codes (0, or that of a comment `# exit N`) and the lines of text blocks.
//
// Two comments in front of a block change that; a reader of the page does not see them:
//
//	<!-- not run: REASON -->              the commands and their flags must exist
//	<!-- run with: COMMAND FLAGS -->      every assay COMMAND of the block gets these flags, or these values
func TestTheDocsRun(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, "../../README.md") {
		name := filepath.Base(path)
		if filepath.Dir(path) == "../.." {
			name = "of the repository, " + name
		}
		if testing.Short() && name != tutorial {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path) //nolint:gosec // a page of this repository
			if err != nil {
				t.Fatal(err)
			}
			p := newReader(t)
			p.follow(blocksOf(string(text)))
			if name == tutorial && p.ran < 15 {
				t.Errorf("%d commands ran, want at least 15", p.ran)
			}
		})
	}
}

// tutorial is the page with the most commands. With -short, as under the race detector, only it is followed.
const tutorial = "scenarios.md"

// block is a fenced block of a Markdown file.
type block struct {
	line       int
	kind, text string
	notRun     string // why its commands are only checked
	command    string // the assay command that gets more flags
	flags      string
}

var (
	notRun  = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
	runWith = regexp.MustCompile(`^<!-- run with: (\S+) (.+) -->$`)
)

func blocksOf(text string) []block {
	var out []block
	var in *block
	n, last := 0, ""
	for line := range strings.Lines(text) {
		n++
		kind, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && in == nil:
			in = &block{line: n, kind: kind}
			if m := notRun.FindStringSubmatch(last); m != nil {
				in.notRun = m[1]
			}
			if m := runWith.FindStringSubmatch(last); m != nil {
				in.command, in.flags = m[1], m[2]
			}
		case fence:
			out = append(out, *in)
			in = nil
		case in != nil:
			in.text += line
		}
		last = strings.TrimSpace(line)
	}
	return out
}

// logicalLine is a command of a block: one line, or several that a backslash or an open quote joins.
type logicalLine struct {
	line int
	text string
}

func (b block) lines() []logicalLine {
	var out []logicalLine
	n, open := b.line, false
	for line := range strings.Lines(b.text) {
		n++
		line = strings.TrimRight(line, "\n")
		if open {
			out[len(out)-1].text += "\n" + line
		} else {
			out = append(out, logicalLine{n, line})
		}
		text := out[len(out)-1].text
		open = strings.HasSuffix(text, `\`) || strings.Count(text, "'")%2 == 1
	}
	return out
}

func (p *reader) follow(blocks []block) {
	for _, b := range blocks {
		switch b.kind {
		case "yaml":
			p.write(b)
		case "sh":
			p.shown.Reset()
			for _, l := range b.lines() {
				if b.notRun != "" {
					p.exists(l)
				} else {
					p.run(b, l)
				}
			}
		case "text":
			p.compare(b)
		case "":
			for _, l := range b.lines() {
				if text, ok := strings.CutPrefix(l.text, "$ "); ok {
					p.exists(logicalLine{l.line, text})
				}
			}
		case "json":
		default:
			p.t.Errorf("line %d: a block of kind %q, which this test does not know", b.line, b.kind)
		}
	}
}

// quoted is an argument whose words are no flags.
var quoted = regexp.MustCompile(`'[^']*'`)

// exists requires that the command of a line and its flags exist.
func (p *reader) exists(l logicalLine) {
	text := strings.ReplaceAll(strings.ReplaceAll(l.text, "\\\n", " "), "bin/assay ", "assay ")
	text, _, _ = strings.Cut(quoted.ReplaceAllString(text, "x"), "  #")
	if strings.HasPrefix(text, "assay ") {
		checkExample(p.t, silentRoot(), text)
	}
}

// compare requires that the commands printed each line, one after the other; … is any text.
func (p *reader) compare(b block) {
	rest := strings.Join(strings.Fields(p.shown.String()), " ")
	for line := range strings.Lines(b.text) {
		want := strings.NewReplacer(" … ", " .*?", "…", ".*?").Replace(regexp.QuoteMeta(strings.Join(strings.Fields(line), " ")))
		at := regexp.MustCompile(want).FindStringIndex(rest)
		if at == nil {
			p.t.Errorf("line %d: the commands before it do not print %q\n%s", b.line, strings.TrimSpace(line), p.shown.String())
			return
		}
		rest = rest[at[1]:]
	}
}
