package main

import (
	"fmt"
	"net"
	"net/url"

	"assay/internal/kube"
	"assay/internal/regular"
)

// busFiles reads the files of the bus, and says what the user has to add.
func (f *renderFlags) busFiles(o *kube.Options) (notes []string, err error) {
	u, err := url.Parse(f.bus)
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(u.Hostname())
	loop := ip != nil && ip.IsLoopback()
	switch {
	case f.busCreds != "":
		if o.Secrets[busCredsKey], err = regular.ReadSecret(f.busCreds, regular.Limit); err != nil {
			return nil, fmt.Errorf("--bus-creds: %w", err)
		}
	case !loop:
		o.Secrets[busCredsKey] = nil
		notes = append(notes, "no --bus-creds: the pods wait until the Secret "+kube.Name(f.run, "")+" has the key "+busCredsKey)
	}
	if f.busCACert != "" {
		text, err := regular.ReadSecret(f.busCACert, regular.Limit)
		if err != nil {
			return nil, fmt.Errorf("--bus-cacert: %w", err)
		}
		o.Files[busCAFile] = string(text)
	}
	return notes, nil
}
