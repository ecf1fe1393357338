//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// page is the report, in Markdown.
type page struct {
	b    strings.Builder
	aims []target
}

// String returns the text so far.
func (p *page) String() string { return p.b.String() }

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// machine writes the date, the versions and the missing peers.
func (p *page) machine(lines []string, missing map[string]string, streams, runs int) {
	p.printf("%s, %d short streams per run, medians of %d interleaved runs (smallest–largest).\n\n", time.Now().UTC().Format(time.DateOnly), streams, runs)
	for _, line := range lines {
		p.printf("- %s\n", line)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		p.printf("- **MISSING: %s.** %s\n", name, missing[name])
	}
}

// failed reports a part that could not be measured.
func (p *page) failed(part string, err error) {
	p.printf("\n**%s could not be measured:** %v\n", part, err)
}

// aim adds a target.
func (p *page) aim(t target) { p.aims = append(p.aims, t) }

// targets writes the table of targets.
func (p *page) targets() {
	if len(p.aims) == 0 {
		return
	}
	p.printf("\n| target | aim | measured | |\n|---|---|---|---|\n")
	for _, t := range p.aims {
		p.printf("%s", t.row())
	}
}
