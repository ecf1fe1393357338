package gateway

import (
	"strings"
	"sync"

	"assay/fakes/virtual"
)

// sandboxWord is replaced by the id of the sandbox in a wrapper's words.
const sandboxWord = "{sandbox}"

// defaultSandbox is the sandbox of a request that names none.
const defaultSandbox = "default"

// wrapper holds the words in front of every command, such as "jexec -l -U root
// e2b-{sandbox}". On a machine where the first word is not a program, it is
// omitted, so that one configuration runs anywhere.
type wrapper struct {
	parts   []string
	present func(program string) bool
	once    sync.Once
	use     bool
}

// newWrapper splits text at white space; present reports whether a program
// exists.
func newWrapper(text string, present func(string) bool) *wrapper {
	return &wrapper{parts: strings.Fields(text), present: present}
}

// words returns the words for one sandbox, or none.
func (w *wrapper) words(sandbox string) []string {
	if len(w.parts) == 0 {
		return nil
	}
	w.once.Do(func() { w.use = w.present(w.parts[0]) })
	if !w.use {
		return nil
	}
	out := make([]string, len(w.parts))
	for i, p := range w.parts {
		out[i] = strings.ReplaceAll(p, sandboxWord, sandbox)
	}
	return out
}

// HasProgram asks a sandbox's shell whether a program exists in it.
func HasProgram(box Sandbox, program string) bool {
	p, err := box.Start(virtual.Spec{
		Argv:   []string{"/bin/sh", "-c", `command -v "$1"`, "sh", program},
		Output: func(virtual.Stream, []byte) {},
	})
	if err != nil {
		return false
	}
	<-p.Exited()
	st := p.Status()
	return st.Signal == 0 && st.Code == 0
}
