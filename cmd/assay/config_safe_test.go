package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"assay/internal/termsafe"
)

// A new flag is either safe in an assay.yaml that nobody named, or stands here.
func TestAFoundFileSetsNoFlagThatRunsWritesSendsOpensOrTrusts(t *testing.T) {
	root := newRoot(stdio{in: strings.NewReader(""), out: termsafe.Writer{To: &bytes.Buffer{}}, err: termsafe.Writer{To: &bytes.Buffer{}}})
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
