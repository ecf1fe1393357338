package fleet

import (
	"strings"
	"testing"
	"time"
)

// Over a network a bus has credentials and TLS, and its URL has no secret.
func TestABusIsChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bus  Bus
		want string // "" is no error
		tls  bool
	}{
		"plain on this machine":        {Bus{URL: "nats://127.0.0.1:4222"}, "", false},
		"by the name of this machine":  {Bus{URL: "nats://localhost:4222"}, "", false},
		"of IPv6":                      {Bus{URL: "nats://[::1]:4222"}, "", false},
		"TLS on this machine":          {Bus{URL: "tls://127.0.0.1:4222"}, "", true},
		"another machine":              {Bus{URL: "nats://192.0.2.1:4222", Credentials: "token-of-the-bus"}, "", true},
		"another one without secrets":  {Bus{URL: "tls://nats.example:4222"}, "needs credentials", false},
		"a secret in the URL":          {Bus{URL: "nats://tok@127.0.0.1:4222"}, "put them into a file", false},
		"another scheme":               {Bus{URL: "ws://127.0.0.1:4222"}, "want nats://HOST:PORT", false},
		"no host":                      {Bus{URL: "nats://"}, "want nats://HOST:PORT", false},
		"a path":                       {Bus{URL: "nats://127.0.0.1/x"}, "nothing behind HOST:PORT", false},
		"a seed that is none":          {Bus{URL: "nats://127.0.0.1", Credentials: "SUABC"}, "seed of the nkey is not valid", false},
		"a file without a JWT":         {Bus{URL: "nats://127.0.0.1", Credentials: "-----BEGIN X-----"}, "no JWT of a user", false},
		"a certificate that is none":   {Bus{URL: "nats://127.0.0.1", CACert: []byte("x")}, "no certificate in PEM", false},
		"a user with a password":       {Bus{URL: "nats://127.0.0.1", Credentials: "me:secret-word"}, "", false},
		"an error without the secrets": {Bus{URL: "http://me:secret-word@127.0.0.1"}, "…@127.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.bus.Validate()
			if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-word")) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err == nil && (tt.bus.tls() != nil) != tt.tls {
				t.Errorf("TLS: %v", tt.bus.tls())
			}
		})
	}
	if got := (&Bus{Credentials: "me:secret-word"}).Secrets(); len(got) != 2 || got[1] != "secret-word" {
		t.Errorf("%q", got)
	}
}

// A bus without TLS cannot be used over TLS, and the error says so.
func TestABusWithoutTLSIsNamed(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	b.URL = strings.Replace(b.URL, "nats:", "tls:", 1)
	_, err := b.connect(t.Context(), "test", time.Second)
	if err == nil || !strings.Contains(err.Error(), "has no TLS") {
		t.Errorf("%v", err)
	}
}
