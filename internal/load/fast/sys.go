//go:build linux && (amd64 || arm64)

package fast

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The sockets are non-blocking, so reads and writes never wait. They use raw system calls,
// because telling the Go scheduler costs more than entering the kernel.

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

// read reads once. stamp is the time in ns, on the wall clock, at which the last segment
// of the bytes arrived; 0 when the kernel has set none.
func (r *receiver) read(fd int32) (n int, stamp int64, e unix.Errno) { return r.receive(fd, 0) }

// peek reads like read, but leaves the bytes in the socket.
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

// discard removes n received bytes from a socket, which TCP does without copying them.
func discard(fd int32, n int) {
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
		if e != unix.EINTR {
			return
		}
	}
}

// stamp reads the only control message: cmsghdr (16 bytes), timespec.
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
	coarse bool // the kernel has no epoll_pwait2
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &poller{fd: int32(fd)}, nil //nolint:gosec // a descriptor
}

// add watches a descriptor for all events, edge-triggered. Its events carry key.
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

// key returns the key of an event's descriptor.
func key(ev *unix.EpollEvent) uint64 { return uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32 } //nolint:gosec // the two halves of epoll_data

// wait returns the events that are ready; without any it waits for at most d.
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

// sleep waits with nanosecond precision if the kernel supports it.
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

// shortNap is the longest sleep by a raw system call. If the Go scheduler knew of the sleep,
// it would give the processor to another thread, and the loop would then wait for a
// processor, for milliseconds when the others are busy. When the scheduler needs the thread,
// its signal ends the sleep.
const shortNap = 5 * time.Millisecond

// doze sleeps; a signal may end it early.
func doze(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	if d <= shortNap {
		_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
		return
	}
	_ = unix.Nanosleep(&ts, nil)
}

// slice is the shortest time slice that the kernel's scheduler accepts.
const slice = 100 * time.Microsecond

// askForShortSlices asks the kernel to run the thread in short slices: the thread gets no
// more of the processor than others, but runs sooner when it wakes up. Kernels before 6.12
// ignore it.
func askForShortSlices() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(slice)}, 0)
}

func (p *poller) close() { _ = unix.Close(int(p.fd)) }
