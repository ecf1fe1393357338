package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/internal/command/attach"
	"assay/internal/target"
)

// attachFlags are the flags of attach.
type attachFlags struct {
	attach.Options
	target      targetFlags
	quiet       quietFlag
	pty, record string
}

// The values of --pty.
const (
	ptyAuto = "auto"
	ptyOn   = "on"
	ptyOff  = "off"
)

func newAttach(streams stdio) *cobra.Command {
	var f attachFlags
	c := &cobra.Command{
		Use:   "attach URL",
		Short: "Connect this terminal to a command in a sandbox",
		Long: `Runs a command in the sandbox behind a gateway, and connects this terminal to it, or
stdin, stdout and stderr if they are pipes. The URL is that of a gateway or of its
WebSocket; without a WebSocket, the session runs over process.Process.

Ctrl+] leaves. The command then gets SIGTERM; that of a --session goes on. After a cut
a session is joined again. The access token comes from --token-file or the variable
ASSAY_TOKEN.

The exit code is that of the command: 128+n if it died of signal n; 0 after Ctrl+].
Before a command runs: 2 usage, 3 nothing to attach to. 3 also if the connection is lost.`,
		Example: `  # a shell
  assay attach http://127.0.0.1:8081 --cmd bash

  # a command and its arguments, with pipes
  tar c . | assay attach http://127.0.0.1:8081 --cmd tar --arg x --arg -C --arg /tmp

  # a session that goes on without its clients, and a second client that watches
  assay attach ws://127.0.0.1:8081/attach --cmd bash --session demo
  assay attach ws://127.0.0.1:8081/attach --session demo --role viewer`,
		Args:              exactly(1, "want the URL of a gateway, for example http://127.0.0.1:8081"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), streams.quieted(f.quiet), args[0])
		},
	}
	fs := flagsOf(c)
	fs.StringVar(&f.Command, "cmd", "", "the `PROGRAM` to run, looked up in the sandbox")
	fs.StringArrayVar(&f.Args, "arg", nil, "an `ARGUMENT` of the program, which no shell reads (repeatable)")
	fs.StringVar(&f.Sandbox, "sandbox", "", "`ID` of the sandbox (default: the gateway's)")
	fs.StringVar(&f.Session, "session", "", "`ID` of a session, which goes on without its clients; without --cmd it must exist")
	fs.StringVar(&f.Role, "role", "", "role in the session: driver, viewer or collaborative (default: the gateway's)")
	fs.StringVar(&f.Over, "over", attach.OverAny, "surface: auto, ws (stdio over WebSocket) or process (process.Process)")
	fs.word(&f.pty, "pty", ptyAuto, "give the command a terminal: auto (if stdin and stdout are one), on or off", "auto, on, off", ptyAuto, ptyOn, ptyOff)
	fs.StringVar(&f.record, "record", "", "write the output as an asciicast (version 2) to this new `FILE`")
	f.quiet.register(c)
	f.target.registerAccess(c)
	return c
}

// run runs a session.
func (f *attachFlags) run(ctx context.Context, streams stdio, url string) error {
	o, terminal, err := f.options(url)
	if err != nil {
		return usage(err)
	}
	streams.guard.hide(o.Target.Secrets())
	o.Local.Note = noter(streams, terminal)
	h := takeHands(terminal)
	o.Local.Signals, o.Local.Resized = h.signals, h.resized
	attached := false
	o.Local.Attached = func() {
		attached = true
		streams.takeover.begin(h.caught, func() {
			if terminal != nil {
				terminal.restore()
			}
		})
		if o.Local.Terminal != nil {
			streams.notef("assay: attached to %s; Ctrl+] leaves\n", url)
		}
	}
	var size attach.Size
	if terminal != nil {
		size = terminal.Size()
	}
	file, err := f.begin(&o, size, streams.guard)
	if err != nil {
		return usage(err)
	}
	r, err := attach.Run(ctx, o)
	streams.takeover.end()
	failed := errors.Join(o.Record.Close(), file.Close())
	if f.record != "" && !attached {
		failed = os.Remove(f.record)
	}
	if failed != nil {
		streams.errorf("assay: --record: %s is not whole: %v\n", f.record, failed)
		if r.Code == 0 && err == nil {
			r.Code = exitDefect
		}
	}
	return ending(r, err)
}

// begin begins the recording that --record asks for. The file must be closed.
func (f *attachFlags) begin(o *attach.Options, size attach.Size, g *guard) (io.Closer, error) {
	if f.record == "" {
		return io.NopCloser(nil), nil
	}
	file, err := os.OpenFile(f.record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("--record: %s exists: name a new file", f.record)
	}
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	o.Record = attach.NewRecording(file, attach.RecordingOptions{
		Size: size, Title: strings.Join(append([]string{f.Command}, f.Args...), " "), Term: os.Getenv("TERM"), Redact: g.redactor.Load(),
	})
	return file, nil
}

// ending returns the error of the program for the end of a session.
func ending(r attach.Result, err error) error {
	var unreachable *target.UnreachableError
	var lost *attach.LostError
	var output *attach.OutputError
	switch {
	case err == nil:
		return code(r.Code)
	case errors.As(err, &output) && errors.Is(err, syscall.EPIPE):
		return code(brokenPipe)
	case errors.As(err, &output):
		return defect(err)
	case errors.As(err, &lost):
		return &exitError{exitUnreachable, err}
	case errors.As(err, &unreachable), errors.Is(err, context.Canceled):
		return err
	}
	return usage(err)
}

// brokenPipe is the exit code of a shell whose command died of SIGPIPE.
const brokenPipe = 128 + 13

// options returns the options of the flags, and the terminal if stdout is one. Its mistakes are usage
// errors.
func (f *attachFlags) options(url string) (o attach.Options, terminal *localTerminal, err error) {
	t, err := f.target.options(url)
	if err != nil {
		return o, nil, err
	}
	t.UserAgent = "assay/" + version
	typed, shown := term.IsTerminal(int(os.Stdin.Fd())), term.IsTerminal(int(os.Stdout.Fd()))
	o = f.Options
	o.Target, o.Local = t, attach.Local{In: os.Stdin, Typed: typed, Out: os.Stdout, Err: os.Stderr}
	o.PTY = f.pty == ptyOn || f.pty == ptyAuto && typed && shown
	if o.PTY {
		o.Env = terminalEnv()
	}
	if shown {
		terminal = &localTerminal{in: os.Stdin, out: os.Stdout, screen: attach.NewScreen(os.Stdout)}
		o.Local.Out = terminal.screen
		if o.PTY && typed {
			o.Local.Terminal = terminal
		}
	}
	return o, terminal, o.Check()
}

// terminalEnv returns the variables by which a command knows its terminal.
func terminalEnv() map[string]string {
	env := map[string]string{"TERM": "xterm-256color"}
	for _, name := range []string{"TERM", "COLORTERM", "LANG", "LC_ALL"} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}
