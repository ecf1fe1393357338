package zoo

import (
	"context"
	"slices"
	"sync"

	"assay/fakes/tree"
)

// watchFaults returns the faults in watching directories.
func watchFaults() []fault {
	return []fault{
		{Fault{
			ID:     "watch-silent",
			Title:  "A watched directory reports nothing",
			Breaks: []string{"filesystem.watch.create"},
			Source: "OpenE2B",
		}, onWatch(func(tree.Watcher) tree.Watcher { return silent{} })},
		{Fault{
			ID:     "watch-flat",
			Title:  "A recursive watch reports only the directory itself",
			Breaks: []string{"filesystem.watch.recursive", "filesystem.watch.new-directory"},
			Source: "gateways that hand the flag to inotify, which knows none",
		}, onTree(func(next tree.Tree) tree.Tree { return flat{next} })},
		{Fault{
			ID:     "watcher-not-drained",
			Title:  "A polled watcher returns all events each time",
			Breaks: []string{"filesystem.watcher.drained"},
			Source: "gateways that keep a log of events",
		}, onWatch(func(next tree.Watcher) tree.Watcher { return &undrained{Watcher: next} })},
	}
}

// watchVariants returns the variants in watching directories.
func watchVariants() []variant {
	return []variant{
		{Variant{
			ID:     "watch-writes-twice",
			Area:   "filesystem",
			Title:  "Every WRITE and CHMOD is reported twice",
			Source: "inotify: the number of events of one change is not defined",
		}, onWatch(func(next tree.Watcher) tree.Watcher { return &twice{Watcher: next} })},
	}
}

// onWatch decorates every watcher.
func onWatch(decorate func(next tree.Watcher) tree.Watcher) func(*build) {
	return onTree(func(next tree.Tree) tree.Tree { return watching{next, decorate} })
}

// watching decorates the watchers of a tree.
type watching struct {
	tree.Tree
	decorate func(tree.Watcher) tree.Watcher
}

func (t watching) Watch(name string, recursive bool) (tree.Watcher, error) {
	w, err := t.Tree.Watch(name, recursive)
	if err != nil {
		return nil, err
	}
	return closer{t.decorate(w), w}, nil
}

// closer closes the watcher behind a decorator.
type closer struct {
	tree.Watcher
	real tree.Watcher
}

func (c closer) Close() { c.real.Close() }

// someEvents reports only the events to keep.
type someEvents struct {
	tree.Watcher
	keep func(tree.Event) bool
}

func (w someEvents) Pending() []tree.Event {
	return slices.DeleteFunc(w.Watcher.Pending(), func(e tree.Event) bool { return !w.keep(e) })
}

func (w someEvents) Next(ctx context.Context) (tree.Event, error) {
	for {
		e, err := w.Watcher.Next(ctx)
		if err != nil || w.keep(e) {
			return e, err
		}
	}
}

// silent reports nothing.
type silent struct{ tree.Watcher }

func (silent) Pending() []tree.Event { return nil }

func (silent) Next(ctx context.Context) (tree.Event, error) {
	<-ctx.Done()
	return tree.Event{}, ctx.Err()
}

// flat ignores that a watch is recursive.
type flat struct{ tree.Tree }

func (t flat) Watch(name string, _ bool) (tree.Watcher, error) { return t.Tree.Watch(name, false) }

// undrained keeps all events for the next poll. A stream does not poll: it waits for
// its events.
type undrained struct {
	tree.Watcher
	mu     sync.Mutex
	stream bool
	all    []tree.Event
}

func (u *undrained) Next(ctx context.Context) (tree.Event, error) {
	u.mu.Lock()
	u.stream = true
	u.mu.Unlock()
	return u.Watcher.Next(ctx)
}

func (u *undrained) Pending() []tree.Event {
	u.mu.Lock()
	defer u.mu.Unlock()
	more := u.Watcher.Pending()
	if u.stream {
		return more
	}
	u.all = append(u.all, more...)
	return slices.Clone(u.all)
}

// twice reports some events twice.
type twice struct {
	tree.Watcher
	mu   sync.Mutex
	last *tree.Event
}

func (t *twice) Pending() []tree.Event {
	out := t.again()
	for _, e := range t.Watcher.Pending() {
		out = append(out, e)
		if repeated(e) {
			out = append(out, e)
		}
	}
	return out
}

func (t *twice) Next(ctx context.Context) (tree.Event, error) {
	if again := t.again(); len(again) > 0 {
		return again[0], nil
	}
	e, err := t.Watcher.Next(ctx)
	if err == nil && repeated(e) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last = &e
	}
	return e, err
}

// again returns the event that Next must repeat.
func (t *twice) again() []tree.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		return nil
	}
	e := *t.last
	t.last = nil
	return []tree.Event{e}
}

// repeated reports whether an event may come any number of times.
func repeated(e tree.Event) bool { return e.Op == tree.Written || e.Op == tree.Changed }
