package zoo

import (
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/tree"
	"assay/internal/envd/filesystem"
)

// filesystemFaults returns the faults in what the filesystem service lists and
// changes.
func filesystemFaults() []fault {
	return []fault{
		{Fault{
			ID:     "list-without-hidden",
			Title:  "Names that begin with a dot are not listed",
			Breaks: []string{"filesystem.list.hidden"},
			Source: "gateways that list with ls",
		}, onList(func(all []tree.Entry) ([]tree.Entry, error) {
			return slices.DeleteFunc(all, func(e tree.Entry) bool { return strings.HasPrefix(e.Name, ".") }), nil
		})},
		{Fault{
			ID:     "list-order-ignores-case",
			Title:  "A listing is sorted without regard to case",
			Breaks: []string{"filesystem.list.order"},
			Source: "gateways that list with ls in a locale",
		}, onList(func(all []tree.Entry) ([]tree.Entry, error) {
			slices.SortStableFunc(all, func(a, b tree.Entry) int {
				return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
			})
			return all, nil
		})},
		{Fault{
			ID:     "list-odd-name-fails",
			Title:  "One name that is not UTF-8 fails the whole listing",
			Breaks: []string{"filesystem.list.undecodable-name"},
			Source: "the E2B daemon, as observed",
		}, onList(func(all []tree.Entry) ([]tree.Entry, error) {
			for _, e := range all {
				if !utf8.ValidString(e.Name) {
					return nil, errors.New("marshal message: string field contains invalid UTF-8")
				}
			}
			return all, nil
		})},
		{Fault{
			ID:     "list-enters-links",
			Title:  "A listing descends into links to directories",
			Breaks: []string{"filesystem.list.links"},
			Source: "gateways that list with find -L",
		}, onFilesPolicy(func(p *files.Policy) { p.EnterLinks = true })},
		{Fault{
			ID:     "entry-mode-with-type",
			Title:  "The mode of an entry has the bits of its type",
			Breaks: []string{"filesystem.stat.mode"},
			Source: "OpenE2B",
		}, onEntry(typeBits)},
		{Fault{
			ID:     "entry-link-without-target",
			Title:  "The entry of a link does not name its target",
			Breaks: []string{"filesystem.stat.link"},
			Source: "gateways that follow every link",
		}, onEntry(func(e *filesystem.EntryInfo) { e.SymlinkTarget = nil })},
		{Fault{
			ID:     "odd-paths-internal",
			Title:  "A path below a file and a name that is too long are internal errors",
			Breaks: []string{"filesystem.path.client-error"},
			Source: "the E2B daemon, as observed",
		}, onTree(func(next tree.Tree) tree.Tree { return opaque{next} })},
		{Fault{
			ID:     "move-into-void-fails",
			Title:  "A move does not create the parents of its destination",
			Breaks: []string{"filesystem.move.parents"},
			Source: "OpenE2B",
		}, onFilesPolicy(func(p *files.Policy) { p.MoveIntoVoid = true })},
		{Fault{
			ID:     "move-leaves-parents",
			Title:  "A move that fails leaves the parents of its destination",
			Breaks: []string{"filesystem.move.nothing-left"},
			Source: "the E2B daemon, as observed",
		}, onFilesPolicy(func(p *files.Policy) { p.ParentsFirst = true })},
		{Fault{
			ID:     "move-keeps-source",
			Title:  "A move of a file copies it",
			Breaks: []string{"filesystem.move.file"},
			Source: "gateways whose storage has no rename",
		}, onTree(func(next tree.Tree) tree.Tree { return copying{next} })},
		{Fault{
			ID:     "move-replaces-nothing",
			Title:  "A move to an existing file fails",
			Breaks: []string{"filesystem.move.replace"},
			Source: "gateways that move with mv -n, or check that nothing is there",
		}, onTree(func(next tree.Tree) tree.Tree { return unreplacing{next} })},
		{Fault{
			ID:     "remove-missing-refused",
			Title:  "Remove of a missing entry is not_found",
			Breaks: []string{"filesystem.remove.missing"},
			Source: "gateways that stat before they remove",
		}, onRemove(func(next tree.Tree, name string) error {
			if _, err := next.Lstat(name); err != nil {
				return connect.NewError(connect.CodeNotFound, errors.New("path not found: "+name))
			}
			return next.RemoveAll(name)
		})},
		{Fault{
			ID:     "remove-follows-links",
			Title:  "Remove of a link removes its target",
			Breaks: []string{"filesystem.remove.link"},
			Source: "gateways that resolve a path before they use it",
		}, onRemove(func(next tree.Tree, name string) error {
			if at, err := next.Resolve(name); err == nil {
				name = at
			}
			return next.RemoveAll(name)
		})},
		{Fault{
			ID:     "remove-only-empty",
			Title:  "Remove of a directory that is not empty fails",
			Breaks: []string{"filesystem.remove.tree"},
			Source: "gateways that remove with rmdir",
		}, onRemove(func(next tree.Tree, name string) error {
			if e, err := next.Lstat(name); err == nil && e.Mode.IsDir() {
				if all, err := next.ReadDir(name); err == nil && len(all) > 0 {
					return syscall.ENOTEMPTY
				}
			}
			return next.RemoveAll(name)
		})},
	}
}

// onTree decorates the files of the sandbox.
func onTree(decorate func(next tree.Tree) tree.Tree) func(*build) {
	return func(b *build) {
		b.Seams.Tree = around(b.Seams.Tree, func(next tree.Tree) tree.Tree {
			if next == nil {
				return nil
			}
			return decorate(next)
		})
	}
}

// onFilesPolicy changes how the surfaces of files behave.
func onFilesPolicy(change func(p *files.Policy)) func(*build) {
	return func(b *build) { change(&b.Seams.Files) }
}

// onEntry changes the entries that are sent.
func onEntry(change func(e *filesystem.EntryInfo)) func(*build) {
	return onFilesPolicy(func(p *files.Policy) {
		inner := p.Entry
		p.Entry = func(e *filesystem.EntryInfo) {
			if inner != nil {
				inner(e)
			}
			change(e)
		}
	})
}

// typeBits adds the bits of the type to a mode, as stat(2) returns them.
func typeBits(e *filesystem.EntryInfo) {
	switch e.GetType() {
	case filesystem.FileType_FILE_TYPE_DIRECTORY:
		e.Mode |= syscall.S_IFDIR
	case filesystem.FileType_FILE_TYPE_FILE:
		e.Mode |= syscall.S_IFREG
	case filesystem.FileType_FILE_TYPE_SYMLINK, filesystem.FileType_FILE_TYPE_UNSPECIFIED:
	}
}

// onList changes the entries of directories.
func onList(change func([]tree.Entry) ([]tree.Entry, error)) func(*build) {
	return onTree(func(next tree.Tree) tree.Tree { return listTree{next, change} })
}

// listTree changes the entries of directories.
type listTree struct {
	tree.Tree
	change func([]tree.Entry) ([]tree.Entry, error)
}

func (t listTree) ReadDir(name string) ([]tree.Entry, error) {
	all, err := t.Tree.ReadDir(name)
	if err != nil {
		return nil, err
	}
	return t.change(all)
}

// copying moves files by copying them.
type copying struct{ tree.Tree }

func (t copying) Rename(from, to string) error {
	e, err := t.Lstat(from)
	if err != nil || !e.Mode.IsRegular() {
		return t.Tree.Rename(from, to)
	}
	in, err := t.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := t.Create(to, e.Owner)
	if err != nil {
		return err
	}
	defer out.Abort()
	out.SetMetadata(e.Metadata)
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Commit()
}

// unreplacing moves only to where nothing is.
type unreplacing struct{ tree.Tree }

func (t unreplacing) Rename(from, to string) error {
	if _, err := t.Lstat(to); err == nil {
		return syscall.EEXIST
	}
	return t.Tree.Rename(from, to)
}

// onRemove removes entries in its own way.
func onRemove(remove func(next tree.Tree, name string) error) func(*build) {
	return onTree(func(next tree.Tree) tree.Tree { return removing{next, remove} })
}

// removing removes entries in its own way.
type removing struct {
	tree.Tree
	remove func(next tree.Tree, name string) error
}

func (t removing) RemoveAll(name string) error { return t.remove(t.Tree, name) }

// filesystemVariants returns the variants of the filesystem service.
func filesystemVariants() []variant {
	return []variant{
		{Variant{
			ID:     "directories-have-sizes",
			Area:   "filesystem",
			Title:  "Directories have a size of 4096",
			Source: "ext4",
		}, onEntry(func(e *filesystem.EntryInfo) {
			if e.GetType() == filesystem.FileType_FILE_TYPE_DIRECTORY && e.SymlinkTarget == nil {
				e.Size = 4096
			}
		})},
		{Variant{
			ID:     "files-of-another-group",
			Area:   "filesystem",
			Title:  "Every entry belongs to the group users",
			Source: "accounts without a group of their own",
		}, onEntry(func(e *filesystem.EntryInfo) { e.Group = "users" })},
	}
}

// opaque hides why a path is wrong.
type opaque struct{ tree.Tree }

func (t opaque) Lstat(name string) (tree.Entry, error) {
	e, err := t.Tree.Lstat(name)
	return e, unexplained(err)
}

func (t opaque) Resolve(name string) (string, error) {
	at, err := t.Tree.Resolve(name)
	return at, unexplained(err)
}

func (t opaque) Mkdir(name, user string) error { return unexplained(t.Tree.Mkdir(name, user)) }

func (t opaque) Create(name, user string) (tree.Upload, error) {
	u, err := t.Tree.Create(name, user)
	return u, unexplained(err)
}

// unexplained returns an error without the errno of a wrong path.
func unexplained(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return errors.New("error getting file info: " + err.Error())
	}
	return err
}
