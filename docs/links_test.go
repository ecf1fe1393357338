package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the Markdown files of the repository that people read.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"../README.md", "../CONTRIBUTING.md", "../sdk/README.md"}
	for _, pattern := range []string{"*.md", "examples/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	code    = regexp.MustCompile("`[^`\n]*`")
)

// A link of a page to this repository leads to a file, and its fragment to a heading there.
func TestLinksLeadSomewhere(t *testing.T) {
	anchors := map[string][]string{}
	read := func(page string) string {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return fenced.ReplaceAllString(string(text), "")
	}
	for _, page := range pages(t) {
		for _, m := range heading.FindAllStringSubmatch(read(page), -1) {
			anchors[filepath.Clean(page)] = append(anchors[filepath.Clean(page)], anchor(m[1]))
		}
	}
	checked := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			to, fragment, _ := strings.Cut(m[1], "#")
			file := filepath.Clean(page)
			if to != "" {
				file = filepath.Join(filepath.Dir(page), to)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link %s leads nowhere: %v", page, m[1], err)
			}
			if fragment != "" && !slices.Contains(anchors[file], fragment) {
				t.Errorf("%s: %s has no heading for the link %s", page, file, m[1])
			}
		}
	}
	if checked < 1000 {
		t.Errorf("%d links found, want at least 1000", checked)
	}
}

// A heading that occurs twice would get another fragment than links have.
func TestTheHeadingsOfGeneratedPagesDiffer(t *testing.T) {
	for _, page := range []string{"rules.md", "faults.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			if a := anchor(m[1]); seen[a] {
				t.Errorf("%s: two headings have the fragment #%s", page, a)
			} else {
				seen[a] = true
			}
		}
	}
}

// The index lists every page.
func TestTheIndexListsEveryPage(t *testing.T) {
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range all {
		if page != "README.md" && !strings.Contains(string(index), "]("+page+")") {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}
