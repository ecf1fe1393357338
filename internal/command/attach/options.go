package attach

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay/internal/target"
)

// The surfaces over which a session runs.
const (
	OverAny     = "auto"    // the first that the gateway serves: WebSocket, then process.Process
	OverSocket  = "ws"      // stdio over WebSocket
	OverProcess = "process" // process.Process
)

// Surfaces lists the values of Options.Over.
func Surfaces() []string { return []string{OverAny, OverSocket, OverProcess} }

// The roles of a client of a session.
const (
	RoleDriver        = "driver"
	RoleViewer        = "viewer"
	RoleCollaborative = "collaborative"
)

// Roles lists the values of Options.Role; "" leaves the role to the gateway.
func Roles() []string { return []string{RoleDriver, RoleViewer, RoleCollaborative} }

// Options describe one session.
type Options struct {
	// Target says where the gateway is. A ws or wss URL is that of the socket itself; an http or
	// https URL is either that, or the base of a gateway.
	Target target.Options
	// Over is one of Surfaces; "" is OverAny.
	Over string
	// Command is the program and Args its arguments; no shell reads them. An empty Command joins
	// the session that Session names.
	Command string
	Args    []string
	// Sandbox is the id of the sandbox; "" leaves it to the gateway.
	Sandbox string
	// Session names a session that outlives its clients. Over process.Process it is the tag of the
	// process. Role is one of Roles, or "".
	Session, Role string
	// PTY asks for a terminal in the sandbox.
	PTY bool
	// Env is added to the environment of the command. Only process.Process carries it.
	Env map[string]string
	// Local is this side of the session.
	Local Local
	// Record takes the session's output and sizes; nil records nothing.
	Record *Recording
	// Clock is the time; the zero value is that of the machine.
	Clock Clock
}

// Local is this side of a session.
type Local struct {
	// In is the input. If it is Typed, by a person at a terminal, Ctrl+] leaves, and input that the
	// command does not take is dropped in the end; else it waits, and its end is the end of stdin.
	In    io.Reader
	Typed bool
	// Out and Err are stdout and stderr of the command.
	Out, Err io.Writer
	// Terminal is the local terminal; nil without one.
	Terminal Terminal
	// Signals are sent on to the command, and Resized says that the size of the terminal has changed.
	Signals <-chan Signal
	Resized <-chan struct{}
	// Note tells the user one sentence about the session. It is called by one goroutine at a time.
	Note func(text string)
	// Attached is called when the command is connected, before anything of it is shown.
	Attached func()
}

// Terminal is the local terminal of a session with a PTY.
type Terminal interface {
	// Raw switches the terminal to raw mode.
	Raw() error
	// Size returns the present size.
	Size() Size
	// Clear empties the screen and ends all modes that output has switched on.
	Clear()
}

// Size is that of a terminal, in characters.
type Size struct{ Cols, Rows int }

// Signal is a signal of the operating system: its name, for example SIGINT, and its number.
type Signal struct {
	Name   string
	Number int
}

// Clock is the time. The zero value is that of the machine.
type Clock struct {
	// Now returns the time, and After a channel that gets it once d is over.
	Now   func() time.Time
	After func(d time.Duration) <-chan time.Time
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}

// Check reports the mistakes in the options that need no network to be seen.
func (o *Options) Check() error {
	if o.Over == "" {
		o.Over = OverAny
	}
	if err := checkURL(o.Target.URL); err != nil {
		return err
	}
	switch {
	case !slices.Contains(Surfaces(), o.Over):
		return fmt.Errorf("--over %q: want %s", o.Over, strings.Join(Surfaces(), ", "))
	case o.Over == OverProcess && target.IsSocketURL(o.Target.URL):
		return errors.New("--over process needs an http or https URL: that of the gateway")
	case o.Command == "" && o.Session == "":
		return errors.New("no command: give one with --cmd, for example --cmd bash, or join a session with --session")
	case o.Command == "" && len(o.Args) > 0:
		return errors.New("--arg needs --cmd")
	case o.Role != "" && !slices.Contains(Roles(), o.Role):
		return fmt.Errorf("--role %q: want %s", o.Role, strings.Join(Roles(), ", "))
	case o.Role != "" && o.Session == "":
		return errors.New("--role needs --session, which names the session that several clients share")
	case o.Over == OverProcess && o.Role == RoleDriver:
		return errors.New("--role driver needs WebSocket: process.Process has no roles; any client sends input")
	}
	for _, word := range append([]string{o.Command, o.Sandbox, o.Session}, o.Args...) {
		if strings.ContainsRune(word, 0) {
			return errors.New("a command, an argument, a sandbox and a session have no NUL byte")
		}
	}
	return nil
}

// flagOf says where a parameter of the query belongs.
var flagOf = map[string]string{
	"cmd": "--cmd", "arg": "--arg", "sandbox": "--sandbox", "session": "--session", "role": "--role", "pty": "--pty",
	"token": "--token-file or the variable ASSAY_TOKEN; in a URL, proxies and shells store it",
}

// checkURL reports parameters of the URL's query that have a flag. It never quotes the query, which
// may contain a token.
func checkURL(text string) error {
	_, rest, _ := strings.Cut(text, "?")
	query, _, _ := strings.Cut(rest, "#")
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the query of the URL is malformed: write it as name=value&name=value")
	}
	for _, name := range []string{"token", "cmd", "arg", "sandbox", "session", "role", "pty"} {
		if values.Has(name) {
			return fmt.Errorf("the query of the URL contains %s: remove it and use %s", name, flagOf[name])
		}
	}
	if query != "" && !target.IsSocketURL(text) {
		return errors.New("the URL has a query: only a ws or wss URL may have one")
	}
	return nil
}
