package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestExhaustedRecognisesALackOfResources(t *testing.T) {
	for err, want := range map[error]bool{
		&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}:         true,
		&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}: true,
		fmt.Errorf("write: %w", syscall.ENOBUFS):                                            true,
		os.NewSyscallError("epoll_ctl", syscall.ENOSPC):                                     true,
		&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}:  false,
		errors.New("too many open files"):                                                   false,
	} {
		if Exhausted(err) != want {
			t.Errorf("%v: got %v", err, !want)
		}
	}
}

func TestThisMachineIsKnownOnLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it need not be known elsewhere")
	}
	if _, used := Descriptors(); used < 3 {
		t.Errorf("%d descriptors are in use", used)
	}
	if low, high, ok := Ports(); !ok || low >= high {
		t.Errorf("the ports are %d to %d, %v", low, high, ok)
	}
	if c, ok := Competition(); !ok || c.Runnable < 1 {
		t.Errorf("%d threads are runnable, %v: want at least this one", c.Runnable, ok)
	}
	if FreeMemory() < 1<<20 || PeakMemory() < 1<<20 || CPUSeconds() <= 0 {
		t.Errorf("%d free, %d used, %v s", FreeMemory(), PeakMemory(), CPUSeconds())
	}
}
