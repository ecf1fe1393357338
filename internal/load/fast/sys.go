//go:build linux && (amd64 || arm64)

package fast

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The sockets are non-blocking, so reads and writes never wait: they are made without
// telling the Go scheduler, which costs more than the system call's own entry.

// send writes p to a socket.
func send(fd int32, p []byte) (int, unix.Errno) {
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		if e != unix.EINTR {
			return int(n), e //nolint:gosec // at most len(p) when there is no error
		}
	}
}

// receiver reads sockets into one buffer, with the kernel's receive stamp.
type receiver struct {
	head    unix.Msghdr
	vector  unix.Iovec
	control [64]byte
	buf     []byte
}

func newReceiver(size int) *receiver {
	r := &receiver{buf: make([]byte, size)}
	r.vector.Base = unsafe.SliceData(r.buf)
	r.vector.SetLen(size)
	r.head.Iov = &r.vector
	r.head.SetIovlen(1)
	r.head.Control = &r.control[0]
	return r
}

// read reads once. The stamp is the time in ns, on the wall clock, at which the last
// segment of what was read came in; 0 when the kernel has set none.
func (r *receiver) read(fd int32) (n int, stamp int64, e unix.Errno) { return r.receive(fd, 0) }

// peek is read, but leaves the bytes to be read again, or to discard.
func (r *receiver) peek(fd int32) (n int, stamp int64, e unix.Errno) {
	return r.receive(fd, unix.MSG_PEEK)
}

func (r *receiver) receive(fd int32, flags uintptr) (n int, stamp int64, e unix.Errno) {
	for {
		r.head.SetControllen(len(r.control))
		got, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.head)), flags|unix.MSG_DONTWAIT)
		switch {
		case e == unix.EINTR:
			continue
		case e != 0:
			return 0, 0, e
		}
		return int(got), r.stamp(), 0 //nolint:gosec // at most len(buf)
	}
}

// discard removes n bytes that have come in, which TCP does without copying them.
func discard(fd int32, n int) {
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
		if e != unix.EINTR {
			return
		}
	}
}

// stamp reads the one control message that was asked for: cmsghdr (16 bytes), timespec.
func (r *receiver) stamp() int64 {
	if r.head.Controllen < 32 {
		return 0
	}
	c := r.control[:32]
	level, kind := binary.NativeEndian.Uint32(c[8:]), binary.NativeEndian.Uint32(c[12:])
	if level != unix.SOL_SOCKET || kind != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(c[16:]))*int64(time.Second) + int64(binary.NativeEndian.Uint64(c[24:])) //nolint:gosec // a time
}

// poller is an epoll and the events of its last wait.
type poller struct {
	fd     int32
	events [256]unix.EpollEvent
	coarse bool // there is no epoll_pwait2
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &poller{fd: int32(fd)}, nil //nolint:gosec // a descriptor
}

// add watches a descriptor for everything, at its edges. key comes back with events.
func (p *poller) add(fd int32, key uint64) error {
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(uint32(key)), Pad: int32(uint32(key >> 32)), //nolint:gosec // the two halves of epoll_data
	}
	_, _, e := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_ADD, uintptr(fd), uintptr(unsafe.Pointer(&ev)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// key is what add was given for the descriptor of an event.
func key(ev *unix.EpollEvent) uint64 { return uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32 } //nolint:gosec // the two halves of epoll_data

// wait returns the events that are there, or waits for some for at most d.
func (p *poller) wait(d time.Duration) ([]unix.EpollEvent, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), 0, 0, 0)
	if e == 0 && n == 0 && d > 0 {
		n, e = p.sleep(d)
	}
	switch {
	case e == unix.EINTR:
		return nil, nil
	case e != 0:
		return nil, e
	}
	return p.events[:n], nil
}

// sleep waits to the nanosecond where the kernel can.
func (p *poller) sleep(d time.Duration) (uintptr, unix.Errno) {
	if !p.coarse {
		ts := unix.NsecToTimespec(int64(d))
		call := unix.Syscall6
		if d <= shortNap {
			call = unix.RawSyscall6
		}
		n, _, e := call(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
		if !errors.Is(e, unix.ENOSYS) {
			return n, e
		}
		p.coarse = true
	}
	ms := (d + time.Millisecond - 1) / time.Millisecond
	n, _, e := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(ms), 0, 0)
	return n, e
}

// shortNap is the longest sleep of which the Go scheduler is not told. It would give the
// processor to another thread, and the loop would have to wait for one afterwards, which
// takes milliseconds when the others are busy. When the scheduler needs the thread, its
// signal ends the sleep.
const shortNap = 5 * time.Millisecond

// doze sleeps; cut short by a signal, it sleeps less.
func doze(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	if d <= shortNap {
		_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
		return
	}
	_ = unix.Nanosleep(&ts, nil)
}

// slice is the shortest that the kernel's scheduler takes.
const slice = 100 * time.Microsecond

// askForShortSlices has the kernel run the thread in short slices: it gets no more of
// the processor than others, but is behind fewer of them when it wakes up. Kernels
// before 6.12 take no notice.
func askForShortSlices() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(slice)}, 0)
}

func (p *poller) close() { _ = unix.Close(int(p.fd)) }
