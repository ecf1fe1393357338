package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"assay/fakes/controlplane"
)

// controlFlags serve sandboxes behind a control plane.
type controlFlags struct {
	on              bool
	keyFile, domain string
}

func (f *controlFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "control-plane", false, "serve sandboxes, each a gateway of its own, and the REST API that creates them")
	fs.StringVar(&f.keyFile, "api-key-file", "", "with --control-plane, file with the API key that clients must send (default: the variable "+apiKeyVariable+"; on loopback none is needed)")
	fs.StringVar(&f.domain, "domain", "", "with --control-plane, serve each sandbox also as PORT-ID.DOMAIN, and name the domain in the responses")
}

// install puts the control plane in front of the gateway.
func (f *controlFlags) install(s *serveFlags) error {
	switch {
	case !f.on && (f.keyFile != "" || f.domain != ""):
		return errors.New("--api-key-file and --domain need --control-plane")
	case !f.on:
		return nil
	case s.tokenFile != "":
		return errors.New("--token-file does not go with --control-plane, whose sandboxes have tokens of their own: use --api-key-file")
	case s.issuer.listen != "":
		return errors.New("--issuer does not go with --control-plane")
	case s.Home != "":
		return errors.New("--home does not go with --control-plane: each sandbox has a home of its own")
	}
	s.ControlPlane = &controlplane.Options{APIKey: s.Token, Domain: f.domain, Only: true}
	return nil
}

// try tells how to point an SDK at the control plane.
func (f *controlFlags) try(url string) string {
	key := "e2b_00"
	if f.keyFile != "" {
		key = "$(cat " + f.keyFile + ")"
	} else if os.Getenv(apiKeyVariable) != "" {
		key = "$" + apiKeyVariable
	}
	return fmt.Sprintf("for an SDK of E2B: export E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY=%s\n", url, url, key)
}
