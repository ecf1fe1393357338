//go:build unix

package osproc

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/fakes/tree"
)

// entry describes what a path names, with the metadata of a file.
func (t *files) entry(base, rel string, info fs.FileInfo) tree.Entry {
	var pairs map[string]string
	if info.Mode().IsRegular() {
		if f, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			pairs = t.kept.read(f, info)
			_ = f.Close()
		}
	}
	return t.described(base, info, pairs)
}

func (t *files) described(base string, info fs.FileInfo, pairs map[string]string) tree.Entry {
	e := tree.Entry{Name: base, Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime(), Metadata: pairs}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Owner = t.named("u", st.Uid, func(id string) string {
			if u, err := user.LookupId(id); err == nil {
				return u.Username
			}
			return id
		})
		e.Group = t.named("g", st.Gid, func(id string) string {
			if g, err := user.LookupGroupId(id); err == nil {
				return g.Name
			}
			return id
		})
	}
	return e
}

// named returns the name of a user or group, which is looked up once.
func (t *files) named(kind string, id uint32, lookup func(id string) string) string {
	number := strconv.FormatUint(uint64(id), 10)
	if name, ok := t.owners.Load(kind + number); ok {
		text, _ := name.(string)
		return text
	}
	name := lookup(number)
	t.owners.Store(kind+number, name)
	return name
}

// account returns the numbers of a user. other reports that this program is another user, and may give files away.
func (t *files) account(name string) (uid, gid int, other bool) {
	u := lookupAccount(name)
	if u == nil || os.Geteuid() != 0 {
		return 0, 0, false
	}
	uid, errU := strconv.Atoi(u.Uid)
	gid, errG := strconv.Atoi(u.Gid)
	return uid, gid, errU == nil && errG == nil && uid != 0
}

// lookupAccount returns a user of the host, nil if there is none of that name.
func lookupAccount(name string) *user.User {
	u, err := user.Lookup(name)
	if err != nil {
		return nil
	}
	return u
}

func sortedNames(list []string) []string {
	list = slices.DeleteFunc(list, isUpload)
	slices.Sort(list)
	return list
}

// attribute begins the names of the extended attributes that hold metadata.
const attribute = "user.e2b."

// maxKept limits the files whose metadata are kept in memory.
const maxKept = 10_000

// kept are the metadata of files on a file system without extended attributes.
type kept struct {
	mu    sync.Mutex
	files map[identity]map[string]string
}

// identity is a file, whatever its name. A new file can get the number of a removed one; then it has metadata that nobody gave it.
type identity struct{ dev, ino uint64 }

func identify(info fs.FileInfo) identity {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{uint64(st.Dev), st.Ino} //nolint:unconvert // int32 on macOS
	}
	return identity{}
}

// read returns the metadata of an open file.
func (k *kept) read(f *os.File, info fs.FileInfo) map[string]string {
	k.mu.Lock()
	pairs := maps.Clone(k.files[identify(info)])
	k.mu.Unlock()
	if pairs != nil {
		return pairs
	}
	fd := int(f.Fd())
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size <= 0 {
		return nil
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(fd, list); err != nil {
		return nil
	}
	for name := range strings.SplitSeq(string(list[:size]), "\x00") {
		key, ok := strings.CutPrefix(name, attribute)
		if !ok {
			continue
		}
		value := make([]byte, 64<<10) // the largest value on Linux
		n, err := unix.Fgetxattr(fd, name, value)
		if err != nil {
			continue
		}
		if pairs == nil {
			pairs = make(map[string]string)
		}
		pairs[key] = string(value[:n])
	}
	return pairs
}

// write gives a new file its metadata.
func (k *kept) write(f *os.File, pairs map[string]string) error {
	for key, value := range pairs {
		err := unix.Fsetxattr(int(f.Fd()), attribute+key, []byte(value), 0)
		switch {
		case errors.Is(err, unix.ENOTSUP):
			return k.keep(f, pairs)
		case errors.Is(err, unix.E2BIG):
			return syscall.ENOSPC
		case errors.Is(err, unix.ERANGE):
			return syscall.EINVAL
		case err != nil:
			return err
		}
	}
	return nil
}

func (k *kept) keep(f *os.File, pairs map[string]string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files == nil {
		k.files = make(map[identity]map[string]string)
	}
	if len(k.files) >= maxKept {
		return syscall.ENOSPC
	}
	k.files[identify(info)] = maps.Clone(pairs)
	return nil
}
