package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/judge/matrix"
	"assay/internal/record/bundle"
	"assay/reports"
)

// maxMatrix is the maximum number of columns.
const maxMatrix = 64

// drawMatrix compares the runs of several gateways. The exit code is 0 whatever they concluded.
func drawMatrix(io stdio, f outputFlags, own string, args []string) error {
	if err := f.only("--matrix has no format", reports.Matrix().Formats()); err != nil {
		return usage(err)
	}
	columns, err := matrixColumns(args)
	if err != nil {
		return usage(err)
	}
	runs := make([]matrix.Run, len(columns))
	for i, c := range columns {
		if runs[i], err = matrixRun(io, c, own); err != nil {
			return err
		}
	}
	return defect(f.write(io, drawing(reports.Matrix().Render, matrix.Of(runs))))
}

// column is one argument of report --matrix.
type column struct{ name, path string }

// matrixColumns names the columns: NAME of NAME=PATH, else the base name of the path, or the
// whole path if two have the same base name.
func matrixColumns(args []string) ([]column, error) {
	if len(args) < 2 || len(args) > maxMatrix {
		return nil, hint{fmt.Errorf("--matrix compares 2 to %d runs, not %d", maxMatrix, len(args)), "name the bundle of each gateway: assay report --matrix a/ b/, or NAME=a/"}
	}
	columns, given, bases := make([]column, len(args)), map[string]bool{}, map[string]int{}
	for i, arg := range args {
		columns[i] = splitColumn(arg)
		name := columns[i].name
		switch {
		case name == "":
			bases[filepath.Base(columns[i].path)]++
		case given[name]:
			return nil, fmt.Errorf("--matrix: two runs have the name %q", name)
		default:
			given[name] = true
		}
	}
	for i, c := range columns {
		if c.name != "" {
			continue
		}
		name := filepath.Base(c.path)
		if bases[name] > 1 || given[name] {
			name = filepath.Clean(c.path)
		}
		for n := 2; given[name]; n++ {
			name = fmt.Sprintf("%s (%d)", filepath.Clean(c.path), n)
		}
		columns[i].name, given[name] = name, true
	}
	return columns, nil
}

// splitColumn splits NAME=PATH. An existing path with = in it is no such pair.
func splitColumn(arg string) column {
	name, path, pair := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); err == nil || !pair || name == "" || strings.ContainsAny(name, `/\`) {
		return column{path: arg}
	}
	return column{name: name, path: path}
}

// matrixRun reads the bundle or the report of a column.
func matrixRun(io stdio, c column, own string) (matrix.Run, error) {
	info, err := os.Stat(c.path)
	if err != nil {
		return matrix.Run{}, usage(err)
	}
	if !info.IsDir() {
		r, err := readComparedFile(c.path)
		if err == nil && r.run == nil {
			err = errors.New("it is the report of a load run")
		}
		if err != nil {
			return matrix.Run{}, usage(notInMatrix(c, err))
		}
		return matrix.Run{Name: c.name, Path: c.path, Report: r.run.Report}, nil
	}
	if isLoad(c.path) {
		return matrix.Run{}, usage(notInMatrix(c, errors.New("it is the bundle of a load run")))
	}
	b, err := bundle.Open(c.path)
	if err != nil {
		return matrix.Run{}, usage(notInMatrix(c, err))
	}
	s, now, err := settled(io, b, own)
	if err != nil {
		return matrix.Run{}, usage(fmt.Errorf("--matrix: %s: %w", c.path, err))
	}
	return matrix.Run{
		Name: c.name, Path: c.path, Report: s.Report, Info: s.Run, Observations: s.Observations, Unfinished: now, Partial: b.Partial,
	}, nil
}

// notInMatrix says what belongs in a matrix.
func notInMatrix(c column, err error) error {
	return fmt.Errorf("--matrix wants the bundle of a conform run (conform --out), or its report as JSON: %s: %w", cmp.Or(c.path, `""`), err)
}
