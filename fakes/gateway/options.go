package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// defaultMetricsPrefix is the prefix of the names of the counters.
const defaultMetricsPrefix = "coppice"

// The values of Options.Processes.
const (
	ProcessesVirtual = "virtual"
	ProcessesOS      = "os"
)

// Options configure a gateway. The zero value is the reference gateway on a
// free port of 127.0.0.1.
type Options struct {
	Listen        string // address to listen on; default 127.0.0.1:0
	MetricsPrefix string // of the coppice Counters; default "coppice"
	// TLS serves https with a self-made certificate; see Gateway.CACert.
	TLS bool
	// Processes is where commands run: ProcessesVirtual (the default), inside
	// this process and without access to the machine, or ProcessesOS, as real
	// processes with the rights of this one. The latter needs a Token.
	Processes string
	// Home is the home directory of every user where processes are real. "" is a fresh
	// directory, which Close removes: a login shell there reads no profile of the
	// user whose machine this is, and leaves nothing behind.
	Home string
	// HTTP are the versions that are served: 1.1 and 2. Empty is both.
	HTTP []string
	// Protocols are the RPC protocols that are served: connect, grpc and
	// grpc-web. Empty is all; the others are answered with 415.
	Protocols []string
	// Prefix is put before the path of every surface: "/sandbox".
	Prefix string
	// Shell, when set, are the words that every command has to start with, such
	// as /bin/bash -l -c; others are refused with invalid_argument. The alias
	// runs its commands by them.
	Shell []string
	// Wrap is words put before every command, split at white space; {sandbox}
	// is replaced by the request's E2b-Sandbox-Id (default "default"). It is
	// left out when its first word is no program of the sandbox.
	Wrap string
	// ClockScale speeds up the gateway's own timers: how long an ended process
	// is kept (30 s), keepalives, and the default time limit of a command
	// (60 s). 10 runs them ten times as fast; 0 means 1. What a client asks
	// for in milliseconds is never scaled.
	ClockScale float64
	// Token, when set, must come as X-Access-Token with every request but
	// those for /health.
	Token string
	Log   *slog.Logger // nil logs nothing

	// FirstPID is where the pids of virtual processes begin; 0 is the default of
	// package virtual.
	FirstPID uint32
	// CompressFrom is the size in bytes from which on a message of a response is
	// compressed.
	CompressFrom int
	// OutputInPieces sends output as it was written. Default: line by line.
	OutputInPieces bool
	// ListUntilDrained keeps a process that has exited in the list while somebody
	// holds its output. Default: until it has exited.
	ListUntilDrained bool
	// Seams are where decorators change the gateway.
	Seams Seams
}

// complete fills in defaults and validates the options.
func (o *Options) complete() error {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.MetricsPrefix == "" {
		o.MetricsPrefix = defaultMetricsPrefix
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Processes == "" {
		o.Processes = ProcessesVirtual
	}
	if o.Processes != ProcessesVirtual && o.Processes != ProcessesOS {
		return fmt.Errorf("processes %q: there are %s and %s", o.Processes, ProcessesVirtual, ProcessesOS)
	}
	if o.Processes == ProcessesOS && o.Token == "" {
		return errors.New("processes os: whoever reaches the gateway could run anything on this machine: give it a token")
	}
	if o.Home != "" && o.Processes != ProcessesOS {
		return fmt.Errorf("home %q: virtual processes have one of their own: it is for processes os", o.Home)
	}
	if err := knownWords("HTTP version", o.HTTP, "1.1", "2"); err != nil {
		return err
	}
	if err := knownWords("protocol", o.Protocols, "connect", "grpc", "grpc-web"); err != nil {
		return err
	}
	if o.Prefix = strings.TrimRight(o.Prefix, "/"); o.Prefix != "" && !strings.HasPrefix(o.Prefix, "/") {
		return fmt.Errorf("prefix %q: a path begins with a slash", o.Prefix)
	}
	return checkPrefix(o.MetricsPrefix)
}

// knownWords refuses words that are none of the known ones.
func knownWords(what string, words []string, known ...string) error {
	for _, w := range words {
		if !slices.Contains(known, w) {
			return fmt.Errorf("unknown %s %q: there are %s", what, w, strings.Join(known, ", "))
		}
	}
	return nil
}

// has reports whether a list that is empty for everything holds a word.
func has(words []string, w string) bool { return len(words) == 0 || slices.Contains(words, w) }

// checkPrefix refuses a prefix that makes invalid metric names.
func checkPrefix(prefix string) error {
	legal := strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") == ""
	if !legal || prefix[0] >= '0' && prefix[0] <= '9' {
		return fmt.Errorf("metrics prefix %q: letters, digits and _ are allowed, and no digit first", prefix)
	}
	return nil
}
