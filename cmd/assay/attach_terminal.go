package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"assay/internal/base/crash"
	"assay/internal/base/termsafe"
	"assay/internal/command/attach"
)

// localTerminal is the terminal on stdout and, if it is switched to raw mode, on stdin. Its methods are safe for concurrent use.
type localTerminal struct {
	in, out *os.File
	screen  *attach.Screen

	mu    sync.Mutex
	saved *term.State // nil: not in raw mode
}

var _ attach.Terminal = (*localTerminal)(nil)

// Raw switches to raw mode.
func (t *localTerminal) Raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err == nil && t.saved == nil {
		t.saved = state
	}
	return err
}

// isRaw reports whether the terminal is in raw mode.
func (t *localTerminal) isRaw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.saved != nil
}

// again switches to raw mode once more, if the terminal was in it: the shell has changed that while
// the program was stopped.
func (t *localTerminal) again() {
	if t.isRaw() {
		_ = t.Raw() // it worked before
	}
}

// restore puts the terminal back as it was.
func (t *localTerminal) restore() {
	t.screen.Reset()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		_ = term.Restore(int(t.in.Fd()), t.saved) // there is no other way
		t.saved = nil
	}
}

// Size returns the present size.
func (t *localTerminal) Size() attach.Size {
	cols, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return attach.Size{}
	}
	return attach.Size{Cols: cols, Rows: rows}
}

// Clear empties the screen.
func (t *localTerminal) Clear() { t.screen.Clear() }

// hands are the channels of a session to the signals of the operating system.
type hands struct {
	caught, changed chan os.Signal
	signals         chan attach.Signal
	resized         chan struct{}
}

// takeHands begins to pass on signals. The program's own come to caught. terminal may be nil.
func takeHands(terminal *localTerminal) *hands {
	h := &hands{
		caught: make(chan os.Signal, 8), changed: make(chan os.Signal, 1),
		signals: make(chan attach.Signal), resized: make(chan struct{}, 1),
	}
	notifyMore(h.caught, h.changed)
	crash.Go(func() {
		for s := range h.caught {
			h.signals <- signalOf(s)
		}
	})
	crash.Go(func() {
		for s := range h.changed {
			if terminal != nil && continued(s) {
				terminal.again()
			}
			select {
			case h.resized <- struct{}{}:
			default:
			}
		}
	})
	return h
}

// noter returns what tells the user a sentence. In raw mode a line ends with CR LF, and the sentence
// begins a line of its own, because the cursor is anywhere.
func noter(streams stdio, terminal *localTerminal) func(text string) {
	return func(text string) {
		text = termsafe.Text("assay: "+text) + "\n"
		if terminal != nil && terminal.isRaw() {
			text = "\r\n" + text[:len(text)-1] + "\r\n"
		}
		_, _ = io.WriteString(streams.progress().err.To, text)
	}
}
