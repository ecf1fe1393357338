package call

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Start starts a process.
type Start struct {
	Process Config  `json:"process"`
	PTY     *PTY    `json:"pty,omitempty"`
	Tag     *string `json:"tag,omitempty"`
	Stdin   *bool   `json:"stdin,omitempty"`
}

// Config is the command of a process.
type Config struct {
	Cmd  string            `json:"cmd,omitempty"`
	Args []string          `json:"args,omitempty"`
	Envs map[string]string `json:"envs,omitempty"`
	Cwd  *string           `json:"cwd,omitempty"`
}

// PTY is a terminal.
type PTY struct {
	Size Size `json:"size"`
}

// Size is the size of a terminal in characters.
type Size struct {
	Cols uint32 `json:"cols"`
	Rows uint32 `json:"rows"`
}

// Selector names a process by pid or by tag. A script may name both, or neither.
type Selector struct {
	PID *int64  `json:"pid,omitempty"`
	Tag *string `json:"tag,omitempty"`
}

// ByPID selects a process by its pid.
func ByPID(pid uint32) Selector { return Selector{PID: new(int64(pid))} }

// ByTag selects a process by its tag.
func ByTag(tag string) Selector { return Selector{Tag: &tag} }

// Attach connects to a running process (the procedure Connect).
type Attach struct {
	Process Selector `json:"process"`
}

// SendSignal signals a process.
type SendSignal struct {
	Process Selector `json:"process"`
	Signal  Signal   `json:"signal"`
}

// Kill sends SIGKILL to a process.
func Kill(s Selector) SendSignal { return SendSignal{Process: s, Signal: "SIGKILL"} }

// Signal is a signal by name or number.
type Signal string

// MarshalJSON writes SIGKILL and SIGTERM by their enum names, a number as a number, and
// any other name unchanged.
func (s Signal) MarshalJSON() ([]byte, error) {
	switch s {
	case "SIGKILL", "SIGTERM":
		s = "SIGNAL_" + s
	}
	if _, err := strconv.Atoi(string(s)); err == nil {
		return []byte(s), nil
	}
	return []byte(strconv.Quote(string(s))), nil
}

// SendInput writes to the standard input or the terminal of a process.
type SendInput struct {
	Process Selector `json:"process"`
	Input   Input    `json:"input"`
}

// Input is data to write. One of the fields is set.
type Input struct {
	Stdin *[]byte `json:"stdin,omitempty"`
	PTY   *[]byte `json:"pty,omitempty"`
}

// Write writes to the standard input of a process.
func Write(s Selector, data []byte) SendInput {
	return SendInput{Process: s, Input: Input{Stdin: &data}}
}

// OpenInput is the first message of StreamInput. It selects the process.
type OpenInput struct {
	Start Attach `json:"start"`
}

// CloseStdin closes the standard input of a process.
type CloseStdin struct {
	Process Selector `json:"process"`
}

// Update changes the size of a process's terminal.
type Update struct {
	Process Selector `json:"process"`
	PTY     PTY      `json:"pty"`
}

// List lists the running processes.
type List struct{}

// Procedure returns ProcessStart.
func (Start) Procedure() string { return ProcessStart }

// Procedure returns ProcessConnect.
func (Attach) Procedure() string { return ProcessConnect }

// Procedure returns ProcessSendSignal.
func (SendSignal) Procedure() string { return ProcessSendSignal }

// Procedure returns ProcessSendInput.
func (SendInput) Procedure() string { return ProcessSendInput }

// Procedure returns ProcessStreamInput.
func (OpenInput) Procedure() string { return ProcessStreamInput }

// Procedure returns ProcessCloseStdin.
func (CloseStdin) Procedure() string { return ProcessCloseStdin }

// Procedure returns ProcessUpdate.
func (Update) Procedure() string { return ProcessUpdate }

// Procedure returns ProcessList.
func (List) Procedure() string { return ProcessList }

// Sorted is a message whose JSON has its keys in alphabetical order, and escapes <, >
// and &. Probes and load send their requests in this form.
type Sorted struct{ Message }

// MarshalJSON returns the sorted JSON.
func (s Sorted) MarshalJSON() ([]byte, error) {
	if m, ok := s.Message.(SendInput); ok { // load sends one for every line
		return json.Marshal(struct {
			Input   Input    `json:"input"`
			Process Selector `json:"process"`
		}{m.Input, m.Process})
	}
	text, err := Marshal(s.Message)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
