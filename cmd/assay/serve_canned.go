package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/fakes/canned"
)

// alone rejects flags that a canned gateway does not support.
func (f *serveFlags) alone(c *cobra.Command) (err error) {
	c.Flags().Visit(func(fl *pflag.Flag) {
		if !slices.Contains([]string{"canned", "listen", "token-file", "tls", "ca-out"}, fl.Name) && c.LocalNonPersistentFlags().Lookup(fl.Name) != nil {
			err = fmt.Errorf("--%s does not go with --canned, which supports only --listen, --token-file, --tls and --ca-out", fl.Name)
		}
	})
	return err
}

// serveCanned runs a canned gateway until it is interrupted. Its only line on stdout
// is the URL.
func (f *serveFlags) serveCanned(c *cobra.Command, io stdio) error {
	if err := f.alone(c); err != nil {
		return usage(err)
	}
	file, err := canned.Load(f.canned)
	if err != nil {
		return usage(err)
	}
	token, err := f.token()
	if err != nil {
		return usage(err)
	}
	if err := f.checkTLS(); err != nil {
		return usage(err)
	}
	s, err := canned.Start(file, canned.Options{Listen: f.Listen, Token: token, TLS: f.TLS})
	if err != nil {
		return usage(err)
	}
	if err := f.writeCA(s.CACert()); err != nil {
		return usage(errors.Join(err, s.Close()))
	}
	if err := io.printf("%s\n", s.URL()); err != nil {
		return defect(err)
	}
	io.notef("serving %s on %s; stop with Ctrl-C\n", f.canned, s.URL())
	<-c.Context().Done()
	return defect(s.Close())
}
