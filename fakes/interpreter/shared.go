package interpreter

import (
	"reflect"
	"sync"

	"go.starlark.net/starlark"
)

// shared are the variables of all contexts, for Policy.Shared.
type shared struct {
	mu   sync.Mutex
	all  starlark.StringDict
	from map[string]*kernel // that assigned it last
}

// lend gives the variables of all contexts to the state of one.
func (v *shared) lend(k *kernel, s *state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, value := range v.all {
		if v.from[name] != k {
			s.globals[name] = value
		}
	}
}

// take takes the variables of a context after its run, except for the builtins.
func (v *shared) take(k *kernel, s *state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all, v.from = starlark.StringDict{}, map[string]*kernel{}
	}
	for name, value := range s.globals {
		_, builtin := s.builtins[name]
		if same := reflect.TypeOf(value).Comparable() && v.all[name] == value; !builtin && !same {
			value.Freeze() // another context may use it at the same time
			v.all[name], v.from[name] = value, k
		}
	}
}

// forget drops the variables of a context.
func (v *shared) forget(k *kernel) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, from := range v.from {
		if from == k {
			delete(v.all, name)
			delete(v.from, name)
		}
	}
}
