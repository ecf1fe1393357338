package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms are the systems whose programs NOTICE covers. Modules differ between systems,
// and NOTICE must not depend on where it is written.
var platforms = []string{"linux", "darwin", "windows"}

// part is a module, the standard library or a folder of embedded files, with what it says of its licence.
type part struct {
	name  string // the module's path and version, or the path of the folder
	root  string
	legal map[string]string // text of each file below root, by its path from there
}

// pkg is what `go list` says of a package.
type pkg struct {
	Dir, ImportPath string
	Module          *module
	EmbedFiles      []string // by their paths from Dir
}

// module is what `go list` says of a module. Dir is that of Replace, if there is one.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

func (m *module) String() string {
	s := m.Path
	if m.Version != "" {
		s += " " + m.Version
	}
	if m.Replace != nil {
		s += " => " + m.Replace.String()
	}
	return s
}

// linked returns what is linked into the program on any of the platforms: the standard
// library first, then the modules and the embedded files of others in order.
func linked(ctx context.Context, dir, program string) ([]*part, error) {
	out, err := goCommand(ctx, dir, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// Only the licence at the root: below it are copies of that licence, and that of BoringCrypto,
	// which only GOEXPERIMENT=boringcrypto links.
	std := &part{name: "Go standard library and runtime", root: strings.TrimSpace(string(out)), legal: map[string]string{}}
	if err := std.read(std.root, ""); err != nil {
		return nil, err
	}
	parts := map[string]*part{}
	for _, system := range platforms {
		list, err := goCommand(ctx, dir, []string{"GOOS=" + system, "GOARCH=amd64"}, "list", "-deps", "-json=Dir,ImportPath,Module,EmbedFiles", program)
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(bytes.NewReader(list)); ; {
			var p pkg
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module == nil {
				continue
			}
			if p.Module.Main {
				if err := p.embedded(parts); err != nil {
					return nil, err
				}
				continue
			}
			name := p.Module.String()
			if parts[name] == nil {
				parts[name] = &part{name: name, root: p.Module.Dir, legal: map[string]string{}}
			}
			if err := parts[name].add(p.Dir); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	all := []*part{std}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, parts[name])
	}
	return all, nil
}

// embedded adds the folders below a package of the program that have embedded files and a
// licence of their own: files of others.
func (p pkg) embedded(parts map[string]*part) error {
	for _, file := range p.EmbedFiles {
		folder := path.Dir(filepath.ToSlash(file))
		name := path.Join(p.ImportPath, folder)
		if folder == "." || parts[name] != nil {
			continue
		}
		e := &part{name: name, root: filepath.Join(p.Dir, filepath.FromSlash(folder)), legal: map[string]string{}}
		if err := e.read(e.root, ""); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(e.legal) > 0 {
			parts[name] = e
		}
	}
	return nil
}

// legalFile matches the files that are reproduced, isLicence those of them that are licences.
var (
	legalFile = regexp.MustCompile(`(?i)^(licen[cs]e|unlicen[cs]e|copying|notice|patents)([.-][^/]*)?$`)
	isLicence = regexp.MustCompile(`(?i)(^|/)(licen[cs]e|unlicen[cs]e|copying)[^/]*$`)
)

// add reads the legal files of a package's directory and of those above it, up to the root:
// code copied from elsewhere often has its licence beside it.
func (p *part) add(dir string) error {
	for {
		below, err := filepath.Rel(p.root, dir)
		if err != nil {
			return err
		}
		if err := p.read(dir, below); err != nil || below == "." {
			return err
		}
		dir = filepath.Dir(dir)
	}
}

// read adds the legal files of one directory.
func (p *part) read(dir, below string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.ToSlash(filepath.Join(below, e.Name()))
		if e.IsDir() || !legalFile.MatchString(e.Name()) || strings.HasSuffix(name, ".go") || p.legal[name] != "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		p.legal[name] = string(text)
	}
	return nil
}

// goCommand runs the go command without cgo, which not every machine has.
func goCommand(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = dir, slices.Concat(os.Environ(), []string{"CGO_ENABLED=0", "GOWORK=off"}, env)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}
