package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/fakes/canned"
)

// alone checks that nothing is asked of a canned gateway that it does not do.
func (f *serveFlags) alone(c *cobra.Command) (err error) {
	c.Flags().Visit(func(fl *pflag.Flag) {
		if fl.Name != "canned" && fl.Name != "listen" && c.LocalNonPersistentFlags().Lookup(fl.Name) != nil {
			err = fmt.Errorf("--%s does not go with --canned: a canned gateway has its file and --listen, nothing else", fl.Name)
		}
	})
	return err
}

// serveCanned runs a canned gateway until it is interrupted. The URL is the one line
// on stdout. It needs no token anywhere: it runs nothing.
func (f *serveFlags) serveCanned(c *cobra.Command, io stdio) error {
	if err := f.alone(c); err != nil {
		return usage(err)
	}
	file, err := canned.Load(f.canned)
	if err != nil {
		return usage(err)
	}
	s, err := canned.Start(f.listen, file)
	if err != nil {
		return usage(err)
	}
	if err := io.printf("%s\n", s.URL()); err != nil {
		return defect(err)
	}
	io.errorf("serving %s on %s; Ctrl-C ends it\n", f.canned, s.URL())
	<-c.Context().Done()
	return defect(s.Close())
}
