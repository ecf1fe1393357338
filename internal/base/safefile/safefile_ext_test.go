package safefile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assay/internal/base/safefile"
	"assay/internal/testkit"
)

// stranger makes a folder as a stranger would, and makes it the working directory:
//
//	outside/secret.yaml
//	inside/real.yaml in.yaml->real.yaml out.yaml->../outside/secret.yaml away->../outside
//	       zero.yaml->/dev/zero pipe.yaml (a named pipe) long.yaml (11 bytes)
func stranger(t *testing.T) (outside string) {
	t.Helper()
	top := t.TempDir()
	inside, outside := filepath.Join(top, "inside"), filepath.Join(top, "outside")
	check(t, os.Mkdir(inside, 0o700), os.Mkdir(outside, 0o700),
		os.WriteFile(filepath.Join(outside, "secret.yaml"), []byte("secret"), 0o600))
	t.Chdir(inside)
	check(t, os.WriteFile("real.yaml", []byte("real"), 0o600), os.WriteFile("long.yaml", []byte("01234567890"), 0o600),
		os.Symlink("real.yaml", "in.yaml"), os.Symlink("../outside/secret.yaml", "out.yaml"), os.Symlink("../outside", "away"),
		os.Symlink("/dev/zero", "zero.yaml"), os.Symlink("nowhere.yaml", "dangling.yaml"), testkit.MkFIFO("pipe.yaml"))
	return outside
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestAFileIsReadOnlyInsideItsFolder(t *testing.T) {
	outside := stranger(t)
	tests := []struct{ name, file, want, failure string }{
		{"a file", "real.yaml", "real", ""},
		{"a link in the folder", "in.yaml", "real", ""},
		{"a path through the parent", "../outside/secret.yaml", "secret", ""},
		{"an absolute path", filepath.Join(outside, "secret.yaml"), "secret", ""},
		{"a link out of the folder", "out.yaml", "", "leads out of its folder"},
		{"a file in a linked folder", "away/secret.yaml", "", "leads out of its folder"},
		{"a link to a device", "zero.yaml", "", "leads out of its folder"},
		{"a link to nothing", "dangling.yaml", "", "no such file"},
		{"a named pipe", "pipe.yaml", "", "is a pipe"},
		{"a device", "/dev/zero", "", "is a device"},
		{"a folder", ".", "", "is a folder"},
		{"the root of the machine", "/", "", "is a folder"},
		{"no name", "", "", "is a folder"},
		{"a file that is too long", "long.yaml", "", "longer than 10 bytes"},
		{"a missing file", "missing.yaml", "", "no such file"},
		{"a file in a file", "real.yaml/x", "", "real.yaml/x: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := safefile.Read(tt.file, 10)
			if tt.failure == "" && (err != nil || string(text) != tt.want) {
				t.Errorf("read %q: %v", text, err)
			}
			if tt.failure != "" && (err == nil || !strings.Contains(err.Error(), tt.failure) || !strings.Contains(err.Error(), tt.file)) {
				t.Errorf("read %q: %v, want %q", text, err, tt.failure)
			}
		})
	}
	if _, err := safefile.Read("missing.yaml", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is %v", err)
	}
}

func TestAFolderIsOpenedOnlyInsideTheWorkingDirectory(t *testing.T) {
	outside := stranger(t)
	for _, dir := range []string{".", "../outside", outside} {
		root, err := safefile.Folder(dir)
		if err != nil {
			t.Fatal(err)
		}
		check(t, root.Close())
	}
	for dir, failure := range map[string]string{
		"away": "leads out of its folder", "pipe.yaml": "is a pipe", "real.yaml": "is a file", "missing": "no such file",
	} {
		if _, err := safefile.Folder(dir); err == nil || !strings.Contains(err.Error(), failure) {
			t.Errorf("%s: %v, want %q", dir, err, failure)
		}
	}
}

func TestAFileInAFolderIsNamedByItsWholePath(t *testing.T) {
	stranger(t)
	root, err := safefile.Folder("../inside")
	check(t, err)
	defer root.Close()
	if text, err := safefile.ReadIn(root, "in.yaml", 10); err != nil || string(text) != "real" {
		t.Errorf("read %q: %v", text, err)
	}
	for _, name := range []string{"out.yaml", "away/secret.yaml", "pipe.yaml", "long.yaml", "missing.yaml"} {
		if _, err := safefile.ReadIn(root, name, 10); err == nil || !strings.Contains(err.Error(), "../inside/"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecretMayBeALinkOrAPipe(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "token"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "token")
	if err := os.Symlink(filepath.Join(other, "token"), link); err != nil {
		t.Skip(err)
	}
	if text, err := safefile.ReadSecret(link, 10); err != nil || string(text) != "abc" {
		t.Errorf("a link: %q, %v", text, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = w.WriteString("def")
		_ = w.Close()
	}()
	if text, err := safefile.ReadSecret(fmt.Sprintf("/dev/fd/%d", r.Fd()), 10); runtime.GOOS == "linux" && (err != nil || string(text) != "def") {
		t.Errorf("a pipe: %q, %v", text, err)
	}
	for name, words := range map[string]string{link: "longer than 2 bytes", dir: "is a folder", os.DevNull: "is a device"} {
		if _, err := safefile.ReadSecret(name, 2); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", name, err, words)
		}
	}
}
