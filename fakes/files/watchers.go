package files

import (
	"crypto/rand"
	"sync"

	"connectrpc.com/connect"
)

// watchers are the polled watchers by id.
type watchers struct {
	mu     sync.Mutex
	all    map[string]*watch
	closed bool
}

// add gives a polled watcher an id; ok is false once the server is closed.
func (a *watchers) add(w *watch) (id string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return "", false
	}
	id = rand.Text()
	a.all[id] = w
	return id, true
}

// find returns a polled watcher.
func (a *watchers) find(id string) (*watch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.named(id)
}

// remove forgets a polled watcher and returns it.
func (a *watchers) remove(id string) (*watch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, err := a.named(id)
	delete(a.all, id)
	return w, err
}

// named returns a polled watcher. The caller holds mu.
func (a *watchers) named(id string) (*watch, error) {
	if w := a.all[id]; w != nil {
		return w, nil
	}
	return nil, problem(connect.CodeNotFound, "watcher with id %s not found", id)
}

// close ends the polled watchers, and lets none be added.
func (a *watchers) close() {
	a.mu.Lock()
	all := a.all
	a.all, a.closed = map[string]*watch{}, true
	a.mu.Unlock()
	for _, w := range all {
		w.Close()
	}
}
