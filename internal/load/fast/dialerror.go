//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"assay/internal/load"
)

// dialTimeout is the failure of a dial that took too long.
func (l *loop) dialTimeout() *failure {
	return &failure{outcome: load.ConnectTimeout, detail: fmt.Sprintf("no connection within %v", l.plan.Limits.Connect)}
}

// noConnection sorts the errors of dialling.
func (l *loop) noConnection(err error) *failure {
	is := func(causes ...unix.Errno) bool {
		return slices.ContainsFunc(causes, func(e unix.Errno) bool { return errors.Is(err, e) })
	}
	switch {
	case is(unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS):
		return &failure{outcome: load.Blocked, detail: "this machine can open no more connections: " + err.Error()}
	case is(unix.ETIMEDOUT):
		return l.dialTimeout()
	case is(unix.ECONNREFUSED, unix.ECONNRESET):
		return &failure{outcome: load.Reset, detail: "the connection was refused: " + err.Error()}
	}
	return &failure{outcome: load.ConnectTimeout, detail: "no connection: " + err.Error()}
}
