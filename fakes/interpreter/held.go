package interpreter

import (
	"errors"
	"unsafe"

	"go.starlark.net/starlark"
)

const (
	// maxHeld limits the bytes of the variables of a context.
	maxHeld = 64 << 20
	// overhead is the memory of a container or a function, beside its elements.
	overhead = 64
	// entry is the memory of an entry of a hash table, beside its content.
	entry = 4 * item
)

// errHeld ends a run behind which the variables of its context take too much.
var errHeld = errors.New("out of memory: the variables of a context may take 64 MiB, so they are forgotten")

// forgetIfLarge forgets all variables, as a restart does, if they take too much. The number of runs goes on.
func (s *state) forgetIfLarge() bool {
	large := held(s.globals, maxHeld) > maxHeld
	if large {
		fresh := newState(s.cwd)
		s.globals, s.builtins, s.environ = fresh.globals, fresh.builtins, fresh.environ
	}
	return large
}

// held returns about the memory of variables, or more than limit. What several values share counts once. A part of a text
// counts as a text of its length, though it keeps the whole.
func held(variables starlark.StringDict, limit int64) int64 {
	m := meter{seen: map[any]bool{}}
	m.addAll(variables)
	for len(m.todo) > 0 && m.size <= limit {
		v := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.open(v)
	}
	return m.size
}

// meter adds up the memory of values. It has a list of its own of what is left to do, because values may be nested deeper than
// the Go stack.
type meter struct {
	size int64
	seen map[any]bool // by pointer
	todo []starlark.Value
}

// isNew reports whether a pointer comes for the first time.
func (m *meter) isNew(pointer any) bool {
	if m.seen[pointer] {
		return false
	}
	m.seen[pointer] = true
	return true
}

func (m *meter) addAll(variables starlark.StringDict) {
	for _, v := range variables {
		m.add(v)
	}
}

// add counts a value without elements; others are left to open.
func (m *meter) add(v starlark.Value) {
	switch v := v.(type) {
	case starlark.String:
		m.addText(string(v))
	case starlark.Bytes:
		m.addText(string(v))
	case starlark.Int:
		m.size += size(v)
	case starlark.Tuple:
		if len(v) > 0 && m.isNew(unsafe.SliceData(v)) {
			m.todo = append(m.todo, v)
		}
	case *starlark.List, *starlark.Dict, *starlark.Set, *starlark.Function:
		if m.isNew(v) {
			m.todo = append(m.todo, v)
		}
	case *starlark.Builtin:
		m.add(v.Receiver())
	}
}

func (m *meter) addText(text string) {
	if len(text) < overhead || m.isNew(unsafe.StringData(text)) {
		m.size += int64(len(text))
	}
}

// open counts a value with elements.
func (m *meter) open(v starlark.Value) {
	m.size += overhead
	switch v := v.(type) {
	case starlark.Tuple:
		m.addElements(v, item)
	case *starlark.List:
		m.addElements(v, item)
	case *starlark.Set:
		m.addElements(v, entry)
	case *starlark.Dict:
		for key, value := range v.Entries() {
			m.size += entry
			m.add(key)
			m.add(value)
		}
	case *starlark.Function:
		for i := range v.NumParams() {
			m.add(v.ParamDefault(i))
		}
		for i := range v.NumFreeVars() {
			_, value := v.FreeVar(i)
			m.add(value)
		}
		if m.isNew(v.Module()) {
			m.addAll(v.Globals())
		}
	}
}

func (m *meter) addElements(all starlark.Iterable, each int64) {
	for v := range starlark.Elements(all) {
		m.size += each
		m.add(v)
	}
}
