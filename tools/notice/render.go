package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

const head = `Assay contains the software listed below. Each part is followed by its licence; the texts come
after the list, each once. The source of a module is published under its path and version;
"assay version" tells the Go release.
Written by "make notice"; do not edit.

`

// render returns NOTICE: the list of the parts, then every legal text with the parts it is of.
func render(parts []*part) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	list := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	var errs []error
	var texts []string
	of := map[string][]string{}
	for _, p := range parts {
		ids, err := p.spdx()
		errs = append(errs, err)
		if _, err := fmt.Fprintf(list, "%s\t%s\n", p.name, ids); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(p.legal)) {
			text := normal(p.legal[name])
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], p.name+": "+name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := list.Flush(); err != nil {
		return nil, err
	}
	line := strings.Repeat("=", 80)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(of[text], "\n"), line, text)
	}
	return out.Bytes(), nil
}

// normal returns a text without what differs between copies of one licence: line ends, and
// blank lines around the text.
func normal(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
