package stdio

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"syscall"

	"assay/fakes/virtual"
)

// The texts from a gateway.
type (
	exitText struct {
		Type string `json:"type"` // exit
		Code int    `json:"code"`
	}
	errorText struct {
		Type    string `json:"type"` // error
		Message string `json:"message"`
	}
	openedText struct {
		Type   string `json:"type"` // opened
		Pane   string `json:"pane"`
		Stdout byte   `json:"stdout"`
		Stderr byte   `json:"stderr"`
	}
	closedText struct {
		Type string `json:"type"` // closed
		Pane string `json:"pane"`
		Code int    `json:"code"`
	}
)

// encode returns a text. Its types cannot fail to encode.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// control is one text from a client. Its names are compared exactly; unknown ones are ignored.
type control map[string]json.RawMessage

// errNoControl is the error for a text that is no control message.
var errNoControl = errors.New("not a control message: want a JSON object with a type")

// parseControl reads a text and its type.
func parseControl(text []byte) (c control, kind string, err error) {
	if json.Unmarshal(text, &c) != nil || c == nil {
		return nil, "", errNoControl
	}
	if json.Unmarshal(c["type"], &kind) != nil || isNull(c["type"]) {
		return nil, "", errNoControl
	}
	return c, kind, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// text reads a string.
func (c control) text(name string) (s string, err error) {
	raw, there := c[name]
	if !there || isNull(raw) || json.Unmarshal(raw, &s) != nil {
		return "", fmt.Errorf("%s must be a string", name)
	}
	return s, nil
}

// pane reads the name of a pane, which is optional.
func (c control) pane() (string, error) {
	if _, there := c["pane"]; !there {
		return mainPane, nil
	}
	return c.text("pane")
}

// size reads cols and rows.
func (c control) size() (virtual.Size, error) {
	cols, err := c.length("cols")
	if err != nil {
		return virtual.Size{}, err
	}
	rows, err := c.length("rows")
	return virtual.Size{Cols: cols, Rows: rows}, err
}

func (c control) length(name string) (uint32, error) {
	n, err := parseLength(string(c[name]))
	if err != nil {
		return 0, fmt.Errorf("%s %w", name, err)
	}
	return n, nil
}

// errLength is the error for a width or height that no terminal has.
var errLength = fmt.Errorf("must be an integer from 1 to %d", math.MaxUint16)

// parseLength reads the width or height of a terminal.
func parseLength(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, errLength
	}
	return uint32(n), nil
}

// signal reads the name of a signal.
func (c control) signal() (syscall.Signal, error) {
	name, err := c.text("signal")
	if err != nil {
		return 0, err
	}
	sig := virtual.SignalNamed(name)
	if sig == 0 {
		return 0, fmt.Errorf("unknown signal %s", quoted(name))
	}
	return sig, nil
}

// command reads the command of a new pane.
func (c control) command() (cmd Command, err error) {
	if cmd.Cmd, err = c.text("cmd"); err != nil {
		return cmd, err
	}
	if cmd.Cmd == "" {
		return cmd, errNoCommand
	}
	if raw, there := c["args"]; there && (json.Unmarshal(raw, &cmd.Args) != nil || len(cmd.Args) > maxArgs) {
		return cmd, fmt.Errorf("args must be an array of at most %d strings", maxArgs)
	}
	pty := false
	if raw, there := c["pty"]; there && json.Unmarshal(raw, &pty) != nil {
		return cmd, errors.New("pty must be true or false")
	}
	if !pty {
		return cmd, nil
	}
	size := defaultSize
	if c["cols"] != nil || c["rows"] != nil {
		size, err = c.size()
	}
	cmd.PTY = &size
	return cmd, err
}

// quoted quotes the start of a client's text.
func quoted(s string) string { return fmt.Sprintf("%.40q", s) }
