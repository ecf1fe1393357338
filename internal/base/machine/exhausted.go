package machine

import (
	"errors"
	"syscall"
)

// Exhausted reports whether an error means that this machine lacks a resource: file
// descriptors, the watches of an epoll (ENOSPC), socket buffers, local ports or memory.
func Exhausted(err error) bool {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ENOSPC, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}
