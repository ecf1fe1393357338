//go:build linux

package main

// The names of the HTTP versions over TLS in tables.
const (
	https1 = "https 1.1"
	https2 = "https h2"
)

// shortTLS lists the drivers of W1 over TLS. wrk and h2load do not verify the certificate, k6
// and fortio are told not to; a verification is once per connection.
func (b *bench) shortTLS(on string) []driver {
	all := b.withBase(on)
	clients := []driver{
		{Name: "net/http", argv: clientTLS("nethttp", on)},
		{Name: "connect-go JSON", argv: clientTLS("connectgo", on)},
		{Name: "fortio", argv: fortioTLS(on), Part: slowPart},
		{Name: "k6", argv: k6TLS(on), Part: slowPart},
	}
	if on == https2 {
		return append(append(all, driver{Name: "h2load", argv: h2load2}), clients...)
	}
	return append(append(all, driver{Name: "wrk", argv: wrk}, driver{Name: "h2load", argv: h2load1}), clients...)
}

func clientTLS(name, on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		flags := []string{"-cacert", g.ca}
		if on == https2 {
			flags = append(flags, "-h2")
		}
		return client(name, flags...)(b, g, n)
	}
}

func fortioTLS(on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		argv := fortio(b, g, n)
		flags := []string{"-k"}
		if on == https2 {
			flags = append(flags, "-h2")
		}
		last := len(argv) - 1 // the URL
		return append(append(argv[:last:last], flags...), argv[last])
	}
}

// k6TLS runs k6, which chooses HTTP/2 where it can. The variable keeps it from that.
func k6TLS(on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		argv := append(k6(b, g, n), "--insecure-skip-tls-verify")
		if on == https1 {
			argv = append([]string{"env", "GODEBUG=http2client=0"}, argv...)
		}
		return argv
	}
}
