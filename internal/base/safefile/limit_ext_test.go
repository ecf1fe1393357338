//go:build unix

package safefile_test

import (
	"os"
	"syscall"
	"testing"

	"assay/internal/base/safefile"
)

// A file that cannot be opened for lack of descriptors may be good: it is neither a link nor unreadable.
func TestALackOfDescriptorsIsNoLink(t *testing.T) {
	stranger(t)
	check(t, os.Mkdir("folder", 0o700), os.WriteFile("folder/real.yaml", []byte("real"), 0o600))
	root, err := safefile.Folder(".")
	check(t, err)
	defer root.Close()
	var old syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	defer func() { check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)) }()
	less := old
	less.Cur = 3
	check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less))
	for name, try := range map[string]func() error{
		"Read":       func() error { _, err := safefile.Read("real.yaml", 10); return err },
		"ReadIn":     func() error { _, err := safefile.ReadIn(root, "real.yaml", 10); return err },
		"ReadSecret": func() error { _, err := safefile.ReadSecret("real.yaml", 10); return err },
		"Open":       func() error { _, err := safefile.Open(root, "folder/real.yaml"); return err },
		"Folder":     func() error { _, err := safefile.Folder("folder"); return err },
		"a folder":   func() error { _, err := safefile.Folder(root.Name() + "/../inside"); return err },
		"IsFolder":   func() error { _, err := safefile.IsFolder(root, "folder/."); return err },
	} {
		if err := try(); !safefile.NoDescriptors(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
