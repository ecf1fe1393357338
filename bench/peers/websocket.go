//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// ws names stdio over WebSocket among the HTTP versions of tables, and coder the peer to
// which its ratios relate.
const (
	ws    = "ws"
	coder = "coder/websocket"
)

// attach returns the URL of a stream of stdio over WebSocket.
func (g *gateway) attach() string {
	return "ws://" + g.addr() + "/attach?cmd=/bin/sh&arg=-c&arg=seq%201%2020"
}

func k6ws(b *bench, g *gateway, n int) []string {
	return []string{
		b.tool("k6"), "run", "-q", "--no-usage-report", "--vus", strconv.Itoa(concurrent), "--iterations", strconv.Itoa(n),
		"-e", "URL=" + g.attach(), b.file("attach.js"),
	}
}

// load returns the beginning of the command line of Assay's driver, over an HTTP version or
// over WebSocket.
func (b *bench) load(g *gateway, on string) []string {
	argv := []string{b.assay, "load", g.url}
	switch on {
	case ws:
		return append(argv, "--protocol", "ws")
	case https1:
		return append(argv, "--http", http1, "--cacert", g.ca)
	case https2:
		return append(argv, "--http", "h2-tls", "--cacert", g.ca)
	}
	return append(argv, "--http", on)
}

// against returns the target of a ratio to a peer.
func against(what string, a aim, got map[string]*figures) target {
	t := target{What: what, Most: a.most, Peer: a.peer, Relative: true}
	own, peer := got[fast], got[a.peer]
	if t.Missing = own == nil || peer == nil; !t.Missing {
		t.Got, t.Against = own.cpu.median(), peer.cpu.median()
	}
	return t
}

// rotate runs all drivers against a gateway, b.runs times, in turns.
func (b *bench) rotate(ctx context.Context, g *gateway, all []driver, on string) (got map[string]*figures, failures map[string]error, err error) {
	got, failures = map[string]*figures{}, map[string]error{}
	for n := range b.runs {
		for i := range all {
			d := all[(i+n)%len(all)] // rotate, so that no driver always follows the same one
			if failures[d.Name] != nil || b.missing[strings.Fields(d.Name)[0]] != "" {
				continue
			}
			if err := b.oneShort(ctx, g, d, got); err != nil {
				if ctx.Err() != nil {
					return nil, nil, fmt.Errorf("%s over %s: %w", d.Name, on, err)
				}
				b.sayf("FAILED %s over %s: %v", d.Name, on, err)
				failures[d.Name] = err
			}
		}
	}
	return got, failures, nil
}
