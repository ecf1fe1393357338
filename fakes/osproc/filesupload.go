//go:build unix

package osproc

import (
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"assay/fakes/tree"
)

// The name of an upload says how it will change the directory, because a watcher learns of the file itself only that a name became another one.
const (
	uploadPrefix = ".assay-upload-"
	uploadDigits = 16
	uploadNew    = 'n' // a file that was not there
	uploadEmpty  = 'e' // such a file without content
	uploadOver   = 'o' // over an old file
)

// isUpload reports the names of uploads.
func isUpload(base string) bool {
	rest, ok := strings.CutPrefix(base, uploadPrefix)
	return ok && len(rest) == 1+uploadDigits && strings.Trim(rest[1:], "0123456789abcdef") == "" && strings.IndexByte("neo", rest[0]) >= 0
}

// Create begins a new content: a file in the same directory, which Commit renames.
func (t *files) Create(name, user string) (tree.Upload, error) {
	at, err := t.walk(name, follow)
	switch {
	case err != nil:
	case at.info != nil:
		err = contentError(at.info)
	case at.slash:
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, failure("create", name, err)
	}
	u := &upload{files: t, name: name, base: path.Base(at.rel), user: user}
	if err := u.begin(path.Dir(at.rel)); err != nil {
		return nil, failure("create", name, err)
	}
	return u, nil
}

// upload is a new content of a file.
type upload struct {
	files            *files
	name, base, user string

	mu       sync.Mutex
	dir      *os.Root // the directory, wherever it is moved to
	file     *os.File // nil once it is done
	temp     string
	size     int64
	metadata map[string]string
}

// begin creates the file.
func (u *upload) begin(dir string) (err error) {
	if u.dir, err = u.files.root.OpenRoot(dir); err != nil {
		return err
	}
	digits := make([]byte, uploadDigits/2)
	_, _ = rand.Read(digits) // never fails
	u.temp = uploadPrefix + string(uploadNew) + hex.EncodeToString(digits)
	u.file, err = u.dir.OpenFile(u.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		_ = u.dir.Close()
	}
	return err
}

func (u *upload) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		return 0, failure("write", u.name, syscall.EBADF)
	}
	n, err := u.file.Write(p)
	u.size += int64(n)
	return n, failure("write", u.name, err)
}

func (u *upload) SetMetadata(pairs map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.metadata = maps.Clone(pairs)
}

func (u *upload) Commit() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		return failure("create", u.name, syscall.EBADF)
	}
	if err := u.replace(); err != nil {
		u.discard()
		return failure("create", u.name, err)
	}
	u.end()
	return nil
}

// replace gives the file its mode, owner, metadata and name.
func (u *upload) replace() error {
	mode, kind := fs.FileMode(0o644), byte(uploadNew)
	if u.size == 0 {
		kind = uploadEmpty
	}
	if old, err := u.dir.Lstat(u.base); err == nil {
		if err := contentError(old); err != nil {
			return err
		}
		mode, kind = old.Mode(), uploadOver
	}
	if uid, gid, other := u.files.account(u.user); other {
		if err := u.file.Chown(uid, gid); err != nil {
			return err
		}
	}
	if err := u.file.Chmod(mode); err != nil { // after Chown, which clears some bits
		return err
	}
	if err := u.files.kept.write(u.file, u.metadata); err != nil {
		return err
	}
	if u.temp[len(uploadPrefix)] != kind {
		other := uploadPrefix + string(kind) + u.temp[len(uploadPrefix)+1:]
		if err := u.dir.Rename(u.temp, other); err != nil {
			return err
		}
		u.temp = other
	}
	return u.dir.Rename(u.temp, u.base)
}

func (u *upload) Abort() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file != nil {
		u.discard()
	}
}

func (u *upload) discard() {
	_ = u.dir.Remove(u.temp)
	u.end()
}

func (u *upload) end() {
	_ = u.file.Close()
	_ = u.dir.Close()
	u.file = nil
}
