package treetest

import (
	"testing"
)

// Run runs all tests, each with a tree of its own.
func Run(t *testing.T, open func(t *testing.T) Box) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, b Box)
	}{
		{"a new content is seen as a whole and belongs to its user", newContent},
		{"an upload that is aborted leaves nothing", aborted},
		{"a new content keeps the mode and replaces the metadata", replaced},
		{"a reader keeps the content that it opened", reader},
		{"a content is written through links, also where they lead to nothing", throughLinks},
		{"a directory is listed in the order of bytes, whatever the names", listing},
		{"commands and files see each other", commands},
		{"links are resolved, and a loop is refused", links},
		{"paths that lead nowhere are refused", paths},
		{"a rename moves an entry and replaces only files", renames},
		{"a removal takes everything below, and of a link the link", removals},
		{"what has no content is not opened", specials},
		{"all metadata of 100 files are kept", metadata},
		{"events of commands come in order", commandEvents},
		{"events of the tree come in order", treeEvents},
		{"a recursive watch sees new directories, a plain one does not", recursion},
		{"a directory that is moved away reports no more", movedAway},
		{"the watched directory reports its own end", watchedGone},
		{"a watch of a link reports the path of the link", watchedLink},
		{"a closed watcher ends", closedWatcher},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}
