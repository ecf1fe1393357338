package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path"
	"strings"
)

// IsTemporary reports whether a name is one that ReplaceFile writes under.
func IsTemporary(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// ReplaceFile writes a file under a temporary name, syncs it if durable is set, and renames
// it: a reader, or a crash, sees the old file or the new one. It replaces links under
// either name and does not follow them.
func ReplaceFile(root *os.Root, name string, text []byte, durable bool) error {
	temp := tempPrefix + path.Base(name)
	if err := root.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// encode returns v as JSON with a newline, with <, > and & unescaped.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
