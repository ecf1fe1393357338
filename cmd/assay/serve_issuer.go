package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"assay/fakes/authproxy"
	"assay/fakes/issuer"
	"assay/fakes/zoo"
)

// issuerFlags put a check of tokens in front of the gateway, and start the issuer of the tokens.
type issuerFlags struct {
	listen string
	limits []string
}

func (f *issuerFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.listen, "issuer", "", "require tokens (JWTs), and give them out on this loopback address, for example 127.0.0.1:8082")
	fs.StringSliceVar(&f.limits, "limit", nil, "with --issuer, limit each user: connections=30/1m, sandboxes=3; and each connection: bandwidth=64KB (a second), idle=65s, block=COMMAND")
}

// start starts the issuer and puts the check in front of the gateway of o. Without --issuer, it returns nil.
func (f *issuerFlags) start(ctx context.Context, io stdio, o *zoo.Options) (*issuer.Issuer, error) {
	limits, err := f.parse()
	if err != nil {
		return nil, err
	}
	if f.listen == "" {
		if f.limits != nil {
			return nil, errors.New("--limit needs --issuer")
		}
		return nil, nil
	}
	limits.Idle = time.Duration(float64(limits.Idle) / o.ClockScale)
	i, err := issuer.Start(ctx, f.listen, issuer.Options{})
	if err != nil {
		return nil, fmt.Errorf("--issuer: %w", err)
	}
	proxy, err := authproxy.New(authproxy.Options{
		Issuer: i, Limits: limits, Needs: authproxy.DefaultNeeds(strings.TrimRight(o.Prefix, "/")),
		Log: slog.New(slog.NewTextHandler(io.err, nil)),
	})
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	o.Seams.Front = proxy.Over
	return i, nil
}

// parse returns the limits.
func (f *issuerFlags) parse() (l authproxy.Limits, err error) {
	for _, limit := range f.limits {
		name, value, ok := strings.Cut(limit, "=")
		if !ok || value == "" {
			return l, fmt.Errorf("--limit %q: want NAME=VALUE", limit)
		}
		switch name {
		case "connections":
			l.Connections, l.Per, err = parseRate(value)
		case "sandboxes":
			l.Sandboxes, err = positive(value)
		case "bandwidth":
			var size sizeValue
			err = size.Set(value)
			l.BytesPerSecond = int(size)
		case "idle":
			if l.Idle, err = time.ParseDuration(value); err != nil {
				err = errors.New("want a duration, for example 65s")
			}
		case "block":
			l.Blocked = append(l.Blocked, value)
		default:
			err = errors.New("the limits are connections, sandboxes, bandwidth, idle and block")
		}
		if err == nil && (l.Idle < 0 || name == "idle" && l.Idle == 0 || name == "bandwidth" && l.BytesPerSecond == 0) {
			err = errors.New("want more than nothing")
		}
		if err != nil {
			return l, fmt.Errorf("--limit %s: %w", limit, err)
		}
	}
	return l, nil
}

// parseRate parses a number of connections and a time, such as 30/1m.
func parseRate(text string) (n int, per time.Duration, err error) {
	number, every, ok := strings.Cut(text, "/")
	if n, err = positive(number); err != nil {
		return 0, 0, err
	}
	if per, err = time.ParseDuration(every); !ok || err != nil || per < time.Millisecond {
		return 0, 0, errors.New("want a number and a time, for example 30/1m")
	}
	return n, per, nil
}

// positive parses a number from 1.
func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: want a number from 1", text)
	}
	return n, nil
}

// tryTokens says how to send a request with a token, and with a bad one.
func tryTokens(issuer, gateway string) string {
	return fmt.Sprintf(`tokens from %[1]s; it lists the bad ones. To try:
  curl -si --json '{"cmd":"seq 1 5"}' -H "Authorization: Bearer $(curl -s '%[1]s/mint')" %[2]s/commands
  curl -si --json '{"cmd":"seq 1 5"}' -H "Authorization: Bearer $(curl -s '%[1]s/mint?kind=expired')" %[2]s/commands
`, issuer, gateway)
}
