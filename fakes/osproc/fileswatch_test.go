//go:build unix

package osproc

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAWatchThatALinkLedAwayIsRefused puts the link where a directory was when its path was resolved.
func TestAWatchThatALinkLedAwayIsRefused(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	if err := errors.Join(os.Mkdir(home, 0o755), os.Symlink("..", filepath.Join(home, "door"))); err != nil {
		t.Fatal(err)
	}
	got, err := New(Options{Home: home}).Files().Watch(home, false)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	w, _ := got.(*watcher)
	if err := w.add("door", false); !errors.Is(err, syscall.EACCES) {
		t.Errorf("watch what the link names: %v", err)
	}
	if list := w.notify.WatchList(); len(list) != 1 || len(w.dirs) != 1 {
		t.Errorf("watched are %q, %v", list, w.dirs)
	}
}
