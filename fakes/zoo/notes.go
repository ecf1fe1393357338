package zoo

import (
	"maps"
	"sync"
)

// notes is what a decorator remembers by a key. The zero value is empty.
type notes[T any] struct {
	mu sync.Mutex
	of map[string]T
}

func (n *notes[T]) put(key string, v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[string]T{}
	}
	n.of[key] = v
}

func (n *notes[T]) get(key string) (v T, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok = n.of[key]
	return v, ok
}

// has reports whether there is a note that matches.
func (n *notes[T]) has(match func(key string, v T) bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, v := range n.of {
		if match(key, v) {
			return true
		}
	}
	return false
}

// drop removes the notes that match.
func (n *notes[T]) drop(match func(key string, v T) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.of, match)
}
