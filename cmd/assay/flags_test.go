package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/base/termsafe"
)

// silentRoot returns the commands of the program, without any input or output.
func silentRoot() *cobra.Command {
	none := termsafe.Writer{To: &bytes.Buffer{}}
	return newRoot(stdio{in: strings.NewReader(""), out: none, err: none})
}

// parserText is what the messages of Go's own parsers contain.
var parserText = []string{"strconv", "parsing", "invalid syntax", "time:", "invalid duration", "bare \"", "map["}

func TestNoMistakeInAFlagIsReportedInTheWordsOfAParser(t *testing.T) {
	tried := 0
	for _, c := range silentRoot().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, value := range []string{"x", `a"b`, "99999999999999999999999999"} {
				root := silentRoot()
				sub, _, err := root.Find([]string{c.Name()})
				if err != nil {
					t.Fatal(err)
				}
				err = sub.ParseFlags([]string{"--" + f.Name + "=" + value})
				if err == nil {
					continue
				}
				tried++
				text := sub.FlagErrorFunc()(sub, err).Error()
				if !strings.Contains(text, "--"+f.Name) || !strings.Contains(text, "want ") && !strings.Contains(text, "out of range") {
					t.Errorf("%s --%s=%s: the message does not say what the flag wants: %s", c.Name(), f.Name, value, text)
				}
				for _, raw := range parserText {
					if strings.Contains(text, raw) {
						t.Errorf("%s --%s=%s: %q in %s", c.Name(), f.Name, value, raw, text)
					}
				}
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d mistakes were found, want one for each number, duration and switch", tried)
	}
}

func TestOnlyVariablesThatNobodyReadsAreRejected(t *testing.T) {
	root := silentRoot()
	for name, want := range map[string]string{
		"ASSAY_TIME_SCALE": "", "ASSAY_CONFIG": "", "ASSAY_TOKEN": "", "ASSAY_API_KEY": "", "ASSAY_RUN": "", "ASSAY_NIGHTLY": "", "ASSAY_TEST_BE_PROGRAM": "",
		"ASSAY_BUSY_ROUNDS": "", "ASSAY_SECRET_X_KEY": "", "ASSAYER": "", "PATH": "", "assay_jobs": "",
		"ASSAY_TOKNE":     `did you mean "ASSAY_TOKEN"?`,
		"ASSAY_TIMESCALE": `did you mean "ASSAY_TIME_SCALE"?`,
		"ASSAY_NIGHTLYY":  "belongs to no flag",
		"ASSAY_":          "belongs to no flag",
	} {
		err := checkEnvironment(root, []string{"HOME=/", name + "=a=b"})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s is rejected: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

// Every visible command has two examples, and each starts with the program's name and an
// existing command.
func TestEveryCommandHasTwoExamples(t *testing.T) {
	root := silentRoot()
	for _, c := range append(root.Commands(), root) {
		if c.Hidden {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			examples := commandLines(c.Example)
			if len(examples) < 2 {
				t.Errorf("%d examples, want at least 2", len(examples))
			}
			for _, line := range examples {
				checkExample(t, root, line)
			}
		})
	}
}

// commandLines returns the lines of an example that run this program.
func commandLines(example string) []string {
	var out []string
	for line := range strings.Lines(example) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "assay ") {
			out = append(out, line)
		}
	}
	return out
}

// checkExample requires that the command and every flag of the line exist.
func checkExample(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	words := strings.Fields(line)
	c, _, err := root.Find(words[1:2])
	if err != nil || c == root {
		t.Errorf("%q: no command %q", line, words[1])
		return
	}
	for _, w := range words[2:] {
		name, isFlag := strings.CutPrefix(w, "--")
		if !isFlag {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if c.Flags().Lookup(name) == nil {
			t.Errorf("%q: %s has no flag --%s", line, c.Name(), name)
		}
	}
}

// A new flag is either safe in an assay.yaml that nobody named, or stands here.
func TestAFoundFileSetsNoFlagThatRunsWritesSendsOpensOrTrusts(t *testing.T) {
	root := silentRoot()
	all := map[string]bool{}
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
	}
	unsafe := maps.Clone(all)
	for _, name := range slices.Concat(safeFlags, safeFiles) {
		if !all[name] {
			t.Errorf("no command has a flag --%s", name)
		}
		delete(unsafe, name)
	}
	want := []string{
		"allow-origin", "api-key-file", "arg", "bus", "bus-cacert", "bus-creds", "ca-out", "cacert", "cmd", "control-plane", "exec", "header", "header-file", "home", "image", "index", "insecure", "insecure-local", "issuer", "key", "listen", "metrics-listen", "namespace", "out", "pid", "processes", "prune", "push", "push-token-file", "record", "report", "rerun", "resume", "run", "sandbox", "sandbox-url", "session", "token-file", "ui", "wrap", "write-known",
	}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(unsafe))); d != "" {
		t.Error(d)
	}
}
