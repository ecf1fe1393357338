package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	o := options{pkg: "./cmd/assay"}
	flag.StringVar(&o.dir, "dir", "../..", "the directory of the program's go.mod")
	flag.BoolVar(&o.check, "check", false, "write nothing; fail if NOTICE is not up to date")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintf(os.Stderr, "notice: %v\n", err)
		os.Exit(1)
	}
}

// options are what a run works on.
type options struct {
	dir   string // of the go.mod
	pkg   string // of the program
	check bool
}

// run writes NOTICE into the directory, or checks it.
func run(ctx context.Context, o options) error {
	parts, err := linked(ctx, o.dir, o.pkg)
	if err != nil {
		return err
	}
	want, err := render(parts)
	if err != nil {
		return err
	}
	path := filepath.Join(o.dir, "NOTICE")
	if !o.check {
		return os.WriteFile(path, want, 0o644) //nolint:gosec // everybody may read it
	}
	got, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New("NOTICE differs from what is linked into the program: run `make notice` and commit NOTICE")
	}
	return nil
}
