package main

import (
	"fmt"

	"assay/internal/fleet"
	"assay/internal/kube"
	"assay/internal/safefile"
)

// busFiles reads the files of the bus for the Secret and the ConfigMap, and says what is missing.
func (f *renderFlags) busFiles(o *kube.Options) (notes []string, err error) {
	b := fleet.Bus{URL: f.fleet.url}
	if f.fleet.caCert != "" {
		if b.CACert, err = safefile.ReadSecret(f.fleet.caCert, safefile.Limit); err != nil {
			return nil, fmt.Errorf("--bus-cacert: %w", err)
		}
		o.Files[busCAFile] = string(b.CACert)
	}
	if f.fleet.creds != "" {
		if b.Credentials, err = readSecret("--bus-creds", f.fleet.creds); err != nil {
			return nil, err
		}
		o.Secrets[busCredsKey] = []byte(b.Credentials)
		return nil, b.Validate()
	}
	if b.Validate() == nil {
		return nil, nil // a bus that needs none
	}
	b.Credentials = "to come"
	o.Secrets[busCredsKey] = nil
	return []string{"no --bus-creds: the pods wait until the Secret " + kube.Name(o.Run, "") + " has the key " + busCredsKey}, b.Validate()
}
