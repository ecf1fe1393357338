package stdio

import (
	"errors"
	"fmt"

	"assay/fakes/virtual"
)

// errTerminalEOF refuses eof for a terminal.
var errTerminalEOF = errors.New("a terminal has no end of stdin: send Ctrl+D (0x04)")

// newControls returns what handles the control messages, by type.
func (s *Server) newControls() map[string]func(c *client, m control) error {
	all := map[string]func(c *client, m control) error{"resize": (*client).resize, "signal": (*client).signal}
	if s.has(FeatureEOF) {
		all["eof"] = (*client).eof
	}
	if s.has(FeaturePanes) {
		all["stdin"] = (*client).stdin
		all["open"] = (*client).open
	}
	return all
}

// control handles a text.
func (c *client) control(text []byte) error {
	m, kind, err := parseControl(text)
	if err != nil {
		return err
	}
	handle, known := c.server.controls[kind]
	switch {
	case !known:
		return fmt.Errorf("unknown type %s", quoted(kind))
	case !c.session.mayInput(c):
		return errViewer
	}
	if err := handle(c, m); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// target returns the pane that a message names, by default the first process; nil when the session is over.
func (c *client) target(m control) (*pane, error) {
	name := mainPane
	if c.server.has(FeaturePanes) {
		var err error
		if name, err = m.pane(); err != nil {
			return nil, err
		}
	}
	return c.session.pane(name)
}

// resize changes the size of a terminal. Without one it does nothing.
func (c *client) resize(m control) error {
	size, err := m.size()
	if err != nil {
		return err
	}
	p, err := c.target(m)
	if err != nil || p == nil || !p.tty {
		return err
	}
	if err := p.process.Resize(size); err != nil && !errors.Is(err, virtual.ErrEnded) {
		return err
	}
	return nil
}

// signal sends a signal.
func (c *client) signal(m control) error {
	sig, err := m.signal()
	if err != nil {
		return err
	}
	p, err := c.target(m)
	if err == nil && p != nil {
		p.process.Signal(sig)
	}
	return err
}

// eof ends stdin.
func (c *client) eof(m control) error {
	p, err := c.target(m)
	switch {
	case err != nil || p == nil:
		return err
	case p.tty:
		return errTerminalEOF
	}
	p.in.end()
	return nil
}

// stdin passes text to the stdin of a pane.
func (c *client) stdin(m control) error {
	data, err := m.text("data")
	if err != nil {
		return err
	}
	name, err := m.pane()
	if err != nil {
		return err
	}
	return c.input(name, []byte(data))
}

// open starts another process in the session.
func (c *client) open(m control) error {
	name, err := m.text("pane")
	if err != nil {
		return err
	}
	command, err := m.command()
	switch {
	case err != nil:
		return err
	case command.PTY != nil && !c.server.has(FeaturePTY):
		return errors.New("this gateway has no terminals")
	}
	return c.session.open(name, command)
}
