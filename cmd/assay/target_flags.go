package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/base/safefile"
	"assay/internal/engine/reproduce"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target"
)

// argsError is a wrong number of arguments.
type argsError struct {
	got  int
	what string
}

// Error names the expected arguments.
func (e argsError) Error() string {
	return fmt.Sprintf("wrong number of arguments (%d): %s", e.got, e.what)
}

// targetFlags are the flags of every command with a target. Secrets come from a
// file or the environment (ASSAY_TOKEN), never from a flag's value.
type targetFlags struct {
	target.Options
	tokenFile, headerFile, shell, caCert string
	endpoints, headers                   []string
	seed                                 uint64
}

func (f *targetFlags) register(c *cobra.Command) {
	f.registerAccess(c)
	fs := c.Flags()
	fs.StringVar(&f.shell, "shell", "", "words in front of a command, for example \"/bin/bash -l -c\" (default: from the profile)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of all random choices (0: from the clock)")
}

// registerAccess registers the flags that say how to reach a target.
func (f *targetFlags) registerAccess(c *cobra.Command) {
	fs := flagsOf(c)
	fs.StringVar(&f.tokenFile, "token-file", "", "file with the access token (default: the variable ASSAY_TOKEN)")
	schemes := target.TokenSchemes()
	fs.word(&f.TokenScheme, "token-scheme", schemes[0], "header that carries the access token: x-access-token, or bearer for \"Authorization: Bearer\"", or(schemes), schemes...)
	fs.StringVar(&f.headerFile, "header-file", "", "file with extra request headers, one \"Name: value\" per line")
	fs.StringArrayVar(&f.headers, "header", nil, "extra request header that is no secret, as `'NAME: VALUE'` (repeatable); secrets: --header-file")
	fs.StringVar(&f.User, "user", "", "OS user to run commands as (sent as Basic authorization)")
	fs.StringArrayVar(&f.endpoints, "endpoint", nil, "path of a surface, as `SURFACE=PATH`; surfaces: "+strings.Join(surface.IDs(), ", ")+" (repeatable)")
	fs.StringVar(&f.caCert, "cacert", "", "file with the certificate authorities (PEM) to trust")
	fs.BoolVar(&f.Insecure, "insecure", false, "do not verify the gateway's certificate")
	fs.Float64Var(&f.TimeScale, "time-scale", 1, "multiply every deadline by this factor")
	fs.check(func() error {
		if f.TimeScale <= 0 || f.TimeScale > 1000 {
			return fmt.Errorf("--time-scale %g: want a factor above 0, at most 1000", f.TimeScale)
		}
		return nil
	})
}

// options returns the target options of the flags.
func (f *targetFlags) options(url string) (target.Options, error) {
	o := f.Options
	o.URL, o.Shell = url, strings.Fields(f.shell)
	var err error
	if o.Token, err = secretOf("--token-file", f.tokenFile, reproduce.TokenVariable); err != nil {
		return o, err
	}
	if o.CACert, err = readFile("--cacert", f.caCert); err != nil {
		return o, err
	}
	for _, e := range f.endpoints {
		id, path, ok := strings.Cut(e, "=")
		if !ok || !strings.HasPrefix(path, "/") || !slices.Contains(surface.IDs(), id) {
			return o, fmt.Errorf("--endpoint %q: want SURFACE=/PATH; the surfaces are %s", e, strings.Join(surface.IDs(), ", "))
		}
		if o.Paths == nil {
			o.Paths = map[string]string{}
		}
		o.Paths[id] = path
	}
	for _, text := range f.headers {
		h, err := target.ParseOpenHeader(text)
		if err != nil {
			return o, fmt.Errorf("--header: %w", err)
		}
		o.Open = append(o.Open, h)
	}
	if f.headerFile != "" {
		o.Headers, err = readHeaders(f.headerFile)
	}
	return o, err
}

// apiKeyVariable holds the API key without --api-key-file.
const apiKeyVariable = "ASSAY_API_KEY"

// secretOf reads a secret from the file that a flag names, or without one from a variable.
func secretOf(flag, path, variable string) (string, error) {
	if path == "" {
		return os.Getenv(variable), nil
	}
	return readSecret(flag, path)
}

// maxSecret is the length of the longest secret: no server takes a longer header, and every output is searched for it.
const maxSecret = 16 << 10

// readFile reads the file of the user's own that a flag names; nil without one.
func readFile(flag, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := safefile.ReadSecret(path, safefile.Limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return text, nil
}

// readSecret reads the secret in the file that a flag names.
func readSecret(flag, path string) (string, error) {
	text, err := readFile(flag, path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	switch {
	case secret == "":
		return "", fmt.Errorf("%s: %s is empty", flag, path)
	case len(secret) > maxSecret:
		return "", fmt.Errorf("%s: %s has %d bytes; a secret has at most %d", flag, path, len(secret), maxSecret)
	}
	return secret, nil
}

// accessFlags reach a target, in the order of a replay command. Seed and profile are not among them.
var accessFlags = []string{
	"token-file", "header-file", "cacert", "user", "shell", "token-scheme", "insecure", "endpoint", "header", "time-scale",
	"control-plane", "api-key-file", "sandbox-url", "template",
}

// words returns the access flags that have another value than their default, as on a command line. Some have another value
// instead, and are left out if that is "".
func (f flags) words(instead map[string]string) (words []string) {
	for _, name := range accessFlags {
		fl := f.Lookup(name)
		if fl == nil || fl.Value.String() == fl.DefValue {
			continue
		}
		other, changed := instead[name]
		list, many := fl.Value.(pflag.SliceValue)
		switch {
		case changed && other != "":
			words = append(words, "--"+name, other)
		case changed:
		case many:
			for _, v := range list.GetSlice() {
				words = append(words, "--"+name, v)
			}
		case fl.NoOptDefVal != "":
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name, fl.Value.String())
		}
	}
	return words
}

// readHeaders reads a file of headers.
func readHeaders(path string) ([]bundle.Header, error) {
	text, err := readFile("--header-file", path)
	if err != nil {
		return nil, err
	}
	hs, err := target.ParseHeaders(text)
	if err != nil {
		return nil, fmt.Errorf("--header-file: %s:%w", path, err)
	}
	for _, h := range hs {
		if len(h.Value) > maxSecret {
			return nil, fmt.Errorf("--header-file: %s: %s has %d bytes; a value has at most %d", path, h.Name, len(h.Value), maxSecret)
		}
	}
	return hs, nil
}
