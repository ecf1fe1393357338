//go:build unix

package osproc

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/fakes/virtual"
)

// fallbackPath is the PATH if this program has none.
const fallbackPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// shell runs commands that cannot run directly.
const shell = "/bin/sh"

// command holds the arguments of exec.
type command struct {
	file string
	argv []string
	env  []string
	dir  string
}

// prepare finds the program and builds its environment. Its error is a [*virtual.SpawnError] about the directory.
func (s *System) prepare(spec virtual.Spec) (command, error) {
	name, home := s.account(spec.User)
	dir := spec.Dir
	if !path.IsAbs(dir) {
		dir = path.Join(home, dir)
	}
	dir = path.Clean(dir)
	if err := checkDir(dir); err != nil {
		return command{}, err
	}
	env := map[string]string{"PATH": hostPath(), "HOME": home, "USER": name, "LOGNAME": name, "E2B_SANDBOX": "true"}
	if spec.PTY != nil {
		env["TERM"] = virtual.DefaultTerm
	}
	maps.Copy(env, spec.Env)
	c := command{argv: slices.Clone(spec.Argv), dir: dir}
	if len(c.argv) == 0 {
		c.argv = []string{""}
	}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		c.env = append(c.env, k+"="+env[k])
	}
	file, err := lookPath(c.argv[0], env["PATH"], dir)
	if err != nil {
		return c.failing(err), nil
	}
	c.file = file
	return c, nil
}

func hostPath() string {
	if p := os.Getenv("PATH"); p != "" {
		return p
	}
	return fallbackPath
}

// account returns the name and the home of a user. It does not change rights: processes run as this program's own user.
func (s *System) account(name string) (user, home string) {
	home = s.options.Home
	self := currentUser()
	if name == "" {
		name = self.Username
	}
	switch {
	case home != "":
		return name, home
	case name == self.Username:
		return name, self.HomeDir
	}
	if known := lookupUser(name); known != "" {
		return name, known
	}
	return name, self.HomeDir
}

func currentUser() user.User {
	u, err := user.Current()
	if err != nil {
		return user.User{Username: "root", HomeDir: "/"}
	}
	return *u
}

// lookupUser returns the home of a user of the host; "" unless it exists and is accessible.
func lookupUser(name string) string {
	u, err := user.Lookup(name)
	// Our processes cannot use an inaccessible home (another user's, mode 0700).
	if err != nil || checkDir(u.HomeDir) != nil || unix.Access(u.HomeDir, unix.X_OK) != nil {
		return ""
	}
	return u.HomeDir
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrPermission):
		return &virtual.SpawnError{Reason: "permission denied"}
	case err != nil:
		return &virtual.SpawnError{Reason: fmt.Sprintf("cwd '%s' does not exist", dir)}
	case !info.IsDir():
		return &virtual.SpawnError{Reason: "not a directory"}
	}
	return nil
}

// lookPath finds an executable file, in the directories of a PATH if the name has no slash. Its error is an errno.
func lookPath(name, dirs, dir string) (string, error) {
	if name == "" {
		return "", syscall.ENOENT
	}
	if strings.Contains(name, "/") {
		file := absolute(dir, name)
		return file, executable(file)
	}
	failure := error(syscall.ENOENT)
	for in := range strings.SplitSeq(dirs, ":") {
		file := path.Join(absolute(dir, in), name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, syscall.EACCES) {
			failure = err
		}
	}
	return "", failure
}

func absolute(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return dir + "/" + name
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrPermission):
		return syscall.EACCES
	case err != nil:
		return syscall.ENOENT
	case !info.Mode().IsRegular():
		return syscall.EACCES
	}
	return unix.Access(file, unix.X_OK)
}

// failing returns a command that prints why the original cannot run, and exits like a shell: 127 for not found, else 126.
func (c command) failing(err error) command {
	code, reason := 126, "Permission denied"
	var no syscall.Errno
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		code, reason = 127, "not found"
	case errors.Is(err, syscall.EACCES):
	case errors.As(err, &no):
		reason = strings.ToUpper(no.Error()[:1]) + no.Error()[1:]
	}
	return c.shell("-c", `printf '%s\n' "$1" >&2; exit "$2"`, "sh", fmt.Sprintf("sh: 1: %s: %s", c.argv[0], reason), strconv.Itoa(code))
}

// asScript returns a command for a text file without #!, which exec refuses but a shell runs.
func (c command) asScript() command { return c.shell(append([]string{c.file}, c.argv[1:]...)...) }

func (c command) shell(args ...string) command {
	c.file, c.argv = shell, append([]string{shell}, args...)
	return c
}
