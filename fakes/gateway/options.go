package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
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
	MetricsPrefix string // prefix of the counter names; default "coppice"
	// TLS serves https with a self-made certificate; see Gateway.CACert. Names are its
	// DNS names beside localhost and the host of Listen.
	TLS   bool
	Names []string
	// Processes is where commands run: ProcessesVirtual (the default), inside
	// this process and without access to the machine, or ProcessesOS, as real
	// processes with the rights of this one. The latter needs a Token, or InsecureLocal.
	Processes string
	// InsecureLocal allows real processes without a Token on a loopback address: every
	// program and user of this machine can then run anything as this process.
	InsecureLocal bool
	// Home is the home directory of every user of real processes. "" is a fresh
	// directory, which Close removes: a login shell there reads no profile of the
	// host's user, and leaves nothing behind.
	Home string
	// HTTP lists the served versions: 1.1 and 2. Empty means both.
	HTTP []string
	// Protocols lists the served RPC protocols: connect, grpc and grpc-web. Empty
	// means all; the others get 415.
	Protocols []string
	// Prefix precedes the path of every surface, for example "/sandbox".
	Prefix string
	// Shell, when set, holds the words with which every command must begin, such as
	// /bin/bash -l -c; others are refused with invalid_argument. The alias runs its
	// commands with them.
	Shell []string
	// Wrap precedes every command and is split at white space; {sandbox} is replaced
	// by the request's E2b-Sandbox-Id (default "default"). It is omitted when its
	// first word is not a program of the sandbox.
	Wrap string
	// ClockScale speeds up the gateway's own timers: how long an ended process is kept
	// (30 s), keepalives, and the default time limit of a command (60 s). 10 runs them
	// ten times as fast; 0 means 1. A duration that a client requests is never scaled.
	ClockScale float64
	// Envs are variables of every command; its own come before them. User and Workdir
	// are the user and the directory of a request that names none; the default is
	// root, and the home of the user. POST /init can change all three.
	Envs          map[string]string
	User, Workdir string
	// Without lists optional features that are switched off; see Features.
	Without []string
	// Token, when set, is required as X-Access-Token in every request except those for
	// /health and /init, and signed ones for /files. The stdio surface also accepts it as a bearer token and in the query.
	Token string
	// Origins are the origins, such as http://localhost:3000, whose pages may call
	// the gateway; AnyOrigin allows all. nil allows all with a Token, and none
	// without. Without a Token, the gateway also refuses requests to names with a
	// dot other than the host of Listen.
	Origins []string
	Log     *slog.Logger // nil logs nothing

	// FirstPID is the first pid of virtual processes; 0 means the default of package
	// virtual.
	FirstPID uint32
	// CompressFrom is the minimum size in bytes of a response message that is
	// compressed.
	CompressFrom int
	// OutputInPieces sends output as it was written. Default: line by line.
	OutputInPieces bool
	// ListUntilDrained keeps an exited process in the list while another process holds
	// its output. Default: a process leaves the list when it exits.
	ListUntilDrained bool
	// Seams holds the decorators that change the gateway.
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
		return fmt.Errorf("processes %q: want %s or %s", o.Processes, ProcessesVirtual, ProcessesOS)
	}
	if o.Processes == ProcessesOS && o.Token == "" && !o.InsecureLocal {
		return errors.New("processes os needs a token: without one, every client could run anything on this machine")
	}
	if o.Home != "" && o.Processes != ProcessesOS {
		return fmt.Errorf("home %q: only processes os use it; virtual processes have their own", o.Home)
	}
	if err := knownWords("HTTP version", o.HTTP, "1.1", "2"); err != nil {
		return err
	}
	if err := knownWords("protocol", o.Protocols, "connect", "grpc", "grpc-web"); err != nil {
		return err
	}
	if err := knownWords("feature", o.Without, Features()...); err != nil {
		return err
	}
	if err := checkOrigins(o.Origins); err != nil {
		return err
	}
	if o.Prefix = strings.TrimRight(o.Prefix, "/"); o.Prefix != "" && !strings.HasPrefix(o.Prefix, "/") {
		return fmt.Errorf("prefix %q: want a path that begins with a slash", o.Prefix)
	}
	return checkPrefix(o.MetricsPrefix)
}

// checkOrigins rejects what no browser sends as an origin.
func checkOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if origin != AnyOrigin && (err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin) {
			return fmt.Errorf("origin %q: want SCHEME://HOST or SCHEME://HOST:PORT without a path, or %s", origin, AnyOrigin)
		}
	}
	return nil
}

// knownWords rejects unknown words.
func knownWords(what string, words []string, known ...string) error {
	for _, w := range words {
		if !slices.Contains(known, w) {
			return fmt.Errorf("unknown %s %q: want one of %s", what, w, strings.Join(known, ", "))
		}
	}
	return nil
}

// has reports whether a list contains a word; an empty list contains every word.
func has(words []string, w string) bool { return len(words) == 0 || slices.Contains(words, w) }

// checkPrefix refuses a prefix that makes invalid metric names.
func checkPrefix(prefix string) error {
	legal := strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") == ""
	if !legal || prefix[0] >= '0' && prefix[0] <= '9' {
		return fmt.Errorf("metrics prefix %q: want letters, digits and _, and no digit first", prefix)
	}
	return nil
}
