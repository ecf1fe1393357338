package main

import (
	"github.com/rogpeppe/go-internal/testscript"

	"assay/fakes/cluster"
)

// cmdApplies requires that a Kubernetes cluster takes the manifest in a file (or stdout): applies stdout.
func cmdApplies(ts *testscript.TestScript, neg bool, args []string) {
	_, err := cluster.Read([]byte(ts.ReadFile(args[0])))
	if neg != (err != nil) {
		ts.Fatalf("%s: %v", args[0], err)
	}
}
