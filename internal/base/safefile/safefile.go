package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Limit is the limit of a file that people write, in bytes.
const Limit = 1 << 20

// errLink is the error of a link that os.Root does not follow.
var errLink = errors.New("a link leads out of its folder: name what it leads to")

// Read returns the contents of a file that a user names, which are at most limit bytes long.
// A relative path without ".." stays in the working directory, any other path in the folder
// of the file: a link that leads out of it is an error. Errors name the file.
func Read(name string, limit int64) ([]byte, error) {
	root, inside, err := rooted(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	text, err := readIn(root, inside, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// ReadSecret returns the contents of a file with the user's own secret or certificate, which
// are at most limit bytes long. Unlike Read, it follows links, as /etc/ssl has them, and reads
// pipes, as a shell makes them for <(command). A pipe without a writer is empty. Errors name
// the file.
func ReadSecret(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, reason(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
		err = fmt.Errorf("this is %s: name a file or a pipe", kind(info.Mode()))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, reason(err))
	}
	text, err := bounded(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// ReadIn is Read for a file in a folder.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	text, err := readIn(root, name, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pathIn(root, name), err)
	}
	return text, nil
}

func readIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return bounded(f, limit)
}

// bounded reads f, which is at most limit bytes long.
func bounded(f *os.File, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, reason(err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("the file is longer than %d bytes, the limit: name a shorter file", limit)
	}
	return text, nil
}

// Folder opens a folder that a user names, as Read does for a file.
func Folder(name string) (*os.Root, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, fmt.Errorf("%s: %w", name, reason(err))
	} else if !info.IsDir() { // opening a pipe would wait for its writer
		return nil, fmt.Errorf("%s is %s: name a folder", name, kind(info.Mode()))
	}
	if !filepath.IsLocal(name) {
		return os.OpenRoot(name)
	}
	here, err := os.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = here.Close() }()
	root, err := here.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, linked(name, err))
	}
	return root, nil
}

// IsFolder reports whether a name in a folder is a folder, or a link to one inside. A link to a
// folder outside is an error.
func IsFolder(root *os.Root, name string) (bool, error) {
	info, err := root.Stat(name)
	if err == nil {
		return info.IsDir(), nil
	}
	path := pathIn(root, name)
	if NoDescriptors(err) {
		return false, fmt.Errorf("%s: %w", path, reason(err))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return false, fmt.Errorf("%s: %w", path, errLink)
	}
	return false, nil
}

// rooted opens the folder in which a path stays, and returns the path inside it.
func rooted(name string) (*os.Root, string, error) {
	dir, inside := ".", filepath.Clean(name)
	if !filepath.IsLocal(name) {
		dir, inside = filepath.Split(inside)
	}
	if inside == "" {
		return nil, "", fmt.Errorf("%q is a folder: name a file", name)
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, reason(err))
	}
	return root, inside, nil
}

// Open opens a regular file in a folder without waiting for anything, for a reader that limits
// its length itself. Errors do not name the file.
func Open(root *os.Root, name string) (*os.File, error) {
	// Opening a device can have effects, so the first check comes before.
	info, err := root.Stat(name)
	if err != nil {
		return nil, linked(pathIn(root, name), err)
	}
	if err := checkRegular(info); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, linked(pathIn(root, name), err)
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkRegular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("this is %s: name a regular file", kind(info.Mode()))
}

// kind names the kind of a file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// linked returns errLink for a file that exists, but only outside the folder. An error of the system is no link:
// os.Root refuses one with an error of its own.
func linked(path string, err error) error {
	var system syscall.Errno
	if errors.As(err, &system) {
		return reason(err)
	}
	if _, found := os.Stat(path); found == nil {
		return errLink
	}
	return reason(err)
}

// NoDescriptors reports whether a file could not be opened because this process or this machine has no more descriptors.
// Such an error says nothing about the file.
func NoDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// reason returns the error without the operation and the path in front of it.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func pathIn(root *os.Root, name string) string {
	return filepath.Join(root.Name(), filepath.FromSlash(name))
}
