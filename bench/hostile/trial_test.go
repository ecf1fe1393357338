package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/fakes/hostile"
)

// smoke are modes of every layer whose runs are short.
const smoke = "closing,garbage,tls,endless-headers,chunk-overflow,giant-header,html,h2-goaway,h2-data-on-0,h2-rst"

// The rest of the table is `make hostile`.
func TestHostileServersBreakNoLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "assay")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "assay/cmd/assay").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	trials := slices.DeleteFunc(allCases(), func(c trial) bool { return !matches(smoke, c.mode.ID) })
	if want := 10 * len(commands()); len(trials) != want {
		t.Errorf("%d runs, want %d", len(trials), want)
	}
	var table bytes.Buffer
	b := &bench{program: program, limits: defaultLimits, jobs: 4, out: &table}
	if err := b.table(t.Context(), trials); err != nil {
		t.Errorf("%v\n%s", err, &table)
	}
}

// Each script stands for a program that breaks one limit, or none.
func TestARunThatBreaksALimitIsNamed(t *testing.T) {
	tests := []struct{ name, script, command, want string }{
		{"a right verdict", "echo FAIL; exit 1", "conform", "[]"},
		{"unreachable", "echo cannot test; exit 3", "doctor", "[]"},
		{"a pass", "echo CONFORMANT", "conform", "[finds nothing wrong]"},
		{"a blamed gateway", "echo NOT CONFORMANT; exit 1", "conform", "[blames what is legal]"},
		{"too much output", "yes | head -c 30000; exit 1", "conform", "[29 KB of output]"},
		{"a sequence for the terminal", `printf 'FAIL \033[31m'; exit 1`, "load", "[control characters in the output]"},
		{"a crash", `printf 'panic: x\n\ngoroutine 1 [running]:\n'; exit 2`, "load", "[crash exit code 2]"},
		{"a defect", "echo sorry; exit 4", "replay", "[exit code 4]"},
		{"silence", "exit 1", "conform", "[says nothing]"},
		{"too much memory", "echo FAIL; exec dd if=/dev/zero of=/dev/null bs=48M count=100", "conform", "[memory over 32 MB finds nothing wrong]"},
		{"a stall", "exec sleep 60", "conform", "[killed after 3s]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			id := "closing"
			if tt.name == "a blamed gateway" {
				id = "reference"
			}
			mode, err := hostile.Find(id)
			if err != nil {
				t.Fatal(err)
			}
			wall := 30 * time.Second
			if tt.name == "a stall" {
				wall = 2 * time.Second / 8 // conform has eight times as long
			}
			b := &bench{program: program, limits: limits{wall: wall, peak: 32 << 20, output: 20_000}}
			r := b.try(t.Context(), trial{mode, tt.command})
			if got := fmt.Sprint(r.breaks); r.err != nil || got != tt.want {
				t.Errorf("breaks %s, %v; want %s", got, r.err, tt.want)
			}
		})
	}
}

func TestTheReasonOfADefectIsOneLine(t *testing.T) {
	text := "DEFECT  Assay itself failed\n\nFAIL  a.rule\n\nERROR  1 rule\n  panic: boom\n      in one\n\nADVISORY  x\n"
	if got, want := reason(text), ": 1 rule panic: boom in one"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := reason("NOT CONFORMANT\n"); got != "" {
		t.Errorf("without a defect: %q", got)
	}
}
