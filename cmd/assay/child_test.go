package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

const (
	killing = `id: mine.kill
title: A command that kills the gateway
rules: [process.end.exit-code]
needs: [process.start]
steps: [{start: {as: p, sh: 'kill -9 $(cat pid); sleep 1', cwd: %q, wait: end}}]
expect: [{rule: process.end.exit-code, p: {end: {code: 0}}}]
`
	fine = `id: mine.fine
title: A command that ends
rules: [process.end.exit-code]
needs: [process.start]
steps: [{start: {as: p, sh: exit 3, wait: end}}]
expect: [{rule: process.end.exit-code, p: {end: {code: 3}}}]
`
)

// A gateway that a scenario kills is started again, the killer is the only cause, and the rest is judged.
func TestExecStartsAGatewayThatDiesAgain(t *testing.T) {
	t.Parallel()
	address := testkit.ReservedPort(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"kill.yaml": fmt.Sprintf(killing, dir), "fine.yaml": fine} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gateway := fmt.Sprintf("echo $$ >'%s/pid'; exec '%s' serve --processes os --insecure-local --listen %s", dir, os.Args[0], address)
	c, out, stderr := program(t, "conform", "http://"+address, "--exec", gateway, "--scenarios", dir, "--profile", "connect", "--format", "json")
	wantExit(t, c.Run(), 1, stderr)
	var r bundle.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Causes) != 1 || r.Causes[0].Rule != "run.target-alive" || r.Causes[0].Scenario != "mine.kill" || r.Counts[bundle.Pass] != 1 {
		t.Errorf("%v, causes %+v", r.Counts, r.Causes)
	}
}
