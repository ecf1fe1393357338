package zoo

import (
	"bytes"
	"io"
	"maps"

	"assay/fakes/tree"
)

// lostFrom is the size above which uploads are lost.
const lostFrom = 18 << 10

// contentFaults returns the faults in the content of files.
func contentFaults() []fault {
	return []fault{
		{Fault{
			ID:     "upload-as-text",
			Title:  "An upload is read as text: bytes that are not UTF-8 become EF BF BD",
			Breaks: []string{"files.write.round-trip"},
			Source: "CubeSandbox#1570",
		}, onUpload(func(u *kept) error {
			return u.whole(bytes.ToValidUTF8(u.content.Bytes(), []byte("\uFFFD")))
		})},
		{Fault{
			ID:     "upload-large-lost",
			Title:  "An upload above 18 KiB succeeds, and there is no file",
			Breaks: []string{"files.write.large"},
			Source: "OpenSandbox#1016",
		}, onUpload(func(u *kept) error {
			if u.content.Len() > lostFrom {
				u.Abort()
				return nil
			}
			return u.whole(u.content.Bytes())
		})},
		{Fault{
			ID:     "upload-keeps-tail",
			Title:  "A shorter content leaves the end of the old one",
			Breaks: []string{"files.write.overwrite"},
			Source: "gateways that open a file without O_TRUNC",
		}, onUpload(func(u *kept) error {
			content := u.content.Bytes()
			if old := u.old(); len(old) > len(content) {
				content = append(content, old[len(content):]...)
			}
			return u.whole(content)
		})},
		{Fault{
			ID:     "upload-in-place",
			Title:  "An upload is written in place: readers see a part, and a broken upload leaves it",
			Breaks: []string{"files.write.broken", "files.write.concurrent", "files.multipart.open", "files.gzip.cut"},
			Source: "the E2B daemon, as observed",
		}, onTree(func(next tree.Tree) tree.Tree { return inPlace{next} })},
		{Fault{
			ID:     "metadata-lost",
			Title:  "The metadata of an upload is not kept",
			Breaks: []string{"filesystem.stat.metadata"},
			Source: "gateways written before metadata existed",
		}, onTree(func(next tree.Tree) tree.Tree {
			return metadataTree{next, func(map[string]string, map[string]string) map[string]string { return nil }}
		})},
		{Fault{
			ID:     "metadata-merged",
			Title:  "An upload keeps the metadata of the one before",
			Breaks: []string{"files.write.metadata-replaced"},
			Source: "gateways that set attributes and remove none",
		}, onTree(func(next tree.Tree) tree.Tree {
			return metadataTree{next, func(old, pairs map[string]string) map[string]string {
				all := map[string]string{}
				maps.Copy(all, old)
				maps.Copy(all, pairs)
				return all
			}}
		})},
	}
}

// onUpload replaces what happens with the content of an upload when it is complete.
func onUpload(commit func(u *kept) error) func(*build) {
	return onTree(func(next tree.Tree) tree.Tree { return keeping{next, commit} })
}

// keeping keeps the content of every upload until its end.
type keeping struct {
	tree.Tree
	commit func(u *kept) error
}

func (t keeping) Create(name, user string) (tree.Upload, error) {
	u, err := t.Tree.Create(name, user)
	if err != nil {
		return nil, err
	}
	return &kept{Upload: u, tree: t, name: name}, nil
}

// kept is an upload whose content is written at its end.
type kept struct {
	tree.Upload
	tree    keeping
	name    string
	content bytes.Buffer
}

func (u *kept) Write(p []byte) (int, error) { return u.content.Write(p) }

func (u *kept) Commit() error { return u.tree.commit(u) }

// whole commits a content.
func (u *kept) whole(content []byte) error {
	if _, err := u.Upload.Write(content); err != nil {
		return err
	}
	return u.Upload.Commit()
}

// old returns the content that an upload replaces.
func (u *kept) old() []byte {
	f, err := u.tree.Open(u.name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(f) // what there is
	return b
}

// inPlace writes uploads where they belong.
type inPlace struct{ tree.Tree }

func (t inPlace) Create(name, user string) (tree.Upload, error) {
	u := &direct{tree: t.Tree, name: name, user: user}
	if _, err := u.Write(nil); err != nil {
		return nil, err
	}
	return u, nil
}

// direct is an upload each piece of which can be seen at once.
type direct struct {
	tree       tree.Tree
	name, user string
	metadata   map[string]string
	content    bytes.Buffer
}

func (u *direct) SetMetadata(pairs map[string]string) { u.metadata = pairs }

// Commit writes once more, for metadata of an empty file.
func (u *direct) Commit() error {
	_, err := u.Write(nil)
	return err
}

// Abort does nothing: what is there stays.
func (u *direct) Abort() {}

func (u *direct) Write(p []byte) (int, error) {
	_, _ = u.content.Write(p) // a buffer takes everything
	w, err := u.tree.Create(u.name, u.user)
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	w.SetMetadata(u.metadata)
	if _, err := w.Write(u.content.Bytes()); err != nil {
		return 0, err
	}
	return len(p), w.Commit()
}

// metadataTree changes the metadata of uploads.
type metadataTree struct {
	tree.Tree
	change func(old, pairs map[string]string) map[string]string
}

func (t metadataTree) Create(name, user string) (tree.Upload, error) {
	var old map[string]string
	if e, err := t.Lstat(name); err == nil {
		old = e.Metadata
	}
	u, err := t.Tree.Create(name, user)
	if err != nil {
		return nil, err
	}
	return metadataUpload{u, func(pairs map[string]string) map[string]string { return t.change(old, pairs) }}, nil
}

// metadataUpload changes the metadata of one upload.
type metadataUpload struct {
	tree.Upload
	change func(pairs map[string]string) map[string]string
}

func (u metadataUpload) SetMetadata(pairs map[string]string) { u.Upload.SetMetadata(u.change(pairs)) }
