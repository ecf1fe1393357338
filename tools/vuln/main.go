package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/vuln/scan"
)

// limit is for a database that never responds. A scan takes minutes.
const limit = 20 * time.Minute

func main() {
	o := options{out: os.Stdout, err: os.Stderr}
	flag.StringVar(&o.dir, "dir", "../..", "the directory of the program's go.mod")
	flag.StringVar(&o.db, "db", "", "the URL of the database; default: that of govulncheck")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "vuln: %v\n", err)
		cancel()
		os.Exit(1) //nolint:gocritic // cancelled above
	}
}

// options are what a run works on.
type options struct {
	dir, db  string
	out, err io.Writer
}

// notChecked is what a run says without the database.
const notChecked = "NOT CHECKED FOR VULNERABILITIES: the database cannot be reached from here"

// run fails if the code in the directory reaches a vulnerable function. A module that is
// vulnerable elsewhere is only reported.
func run(ctx context.Context, o options) error {
	// The modules alone take no time; a scan of the packages takes more than a gigabyte.
	err := govulncheck(ctx, options{dir: o.dir, db: o.db, out: io.Discard, err: io.Discard}, "-scan", "module")
	if !unreachable(err) {
		err = govulncheck(ctx, o, "./...")
	}
	var code interface{ ExitCode() int }
	switch {
	case unreachable(err):
		_, err = fmt.Fprintf(o.err, "%s: %v\n", notChecked, err)
	case errors.As(err, &code) && code.ExitCode() == foundCode:
		return errors.New(`our code reaches a vulnerable function: update the module, or Go, to the version in "Fixed in" above`)
	}
	return err
}

func govulncheck(ctx context.Context, o options, args ...string) error {
	args = append([]string{"-C", o.dir}, args...)
	if o.db != "" {
		args = append([]string{"-db", o.db}, args...)
	}
	c := scan.Command(ctx, args...)
	c.Stdout, c.Stderr = o.out, o.err
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// foundCode is govulncheck's exit code for a vulnerable function that is reached.
const foundCode = 3

// unreachable reports whether err is that of a database that does not respond, or not with
// what a database holds. The package has no type for it.
func unreachable(err error) bool {
	if err == nil {
		return false
	}
	text := strings.TrimPrefix(err.Error(), "govulncheck: ")
	return strings.HasPrefix(text, "fetching vulnerabilities: ") || strings.HasPrefix(text, "creating client: unrecognized vulndb format")
}
