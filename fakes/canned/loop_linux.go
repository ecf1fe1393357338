package canned

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/crash"
	"assay/internal/base/tlsloop"
)

const (
	readBuffer = 64 << 10
	maxEvents  = 512
	maxAccepts = 256 // in one turn
)

// loop drives the sockets and the timers of a gateway.
type loop struct {
	gateway  *gateway
	epoll    int
	wake     int // an eventfd: end
	listener int
	base     time.Time
	conns    []*conn // by descriptor
	full     bool    // no descriptor is left for another connection
	coarse   bool    // the kernel has no epoll_pwait2
	buffer   []byte
	stopping atomic.Bool
	shakes   shakes
}

var _ system = (*loop)(nil)

// serve starts the loop of a listener; stop ends it, and done then returns its error.
func serve(listener net.Listener, s served, done chan<- error) (stop func(), err error) {
	l := &loop{epoll: -1, wake: -1, listener: -1, base: time.Now(), buffer: make([]byte, readBuffer)}
	if l.gateway, err = newGateway(s.file, l); err != nil {
		return nil, err
	}
	l.gateway.token, l.shakes.config = s.token, s.secure
	if s.secure != nil {
		l.shakes.plain = make([]byte, 0, readBuffer+tlsloop.MaxRecord)
	}
	if err := l.open(listener); err != nil {
		l.close()
		return nil, err
	}
	wake, err := unix.Dup(l.wake) // stop may be called when the loop has ended
	if err != nil {
		l.close()
		return nil, os.NewSyscallError("dup", err)
	}
	crash.Go(func() {
		done <- l.run()
	})
	return func() {
		l.stopping.Store(true)
		signal(wake)
		_ = unix.Close(wake)
	}, nil
}

// signal wakes a loop through its eventfd, which always accepts a write.
func signal(wake int) { _, _ = unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// open creates the descriptors.
func (l *loop) open(listener net.Listener) error {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("listening on %s: want TCP", listener.Addr())
	}
	f, err := tcp.File()
	if err != nil {
		return fmt.Errorf("listening on %s: %w", listener.Addr(), err)
	}
	l.listener, err = unix.Dup(int(f.Fd()))
	if err = errors.Join(os.NewSyscallError("dup", err), f.Close()); err != nil {
		return err
	}
	if err = unix.SetNonblock(l.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	// Accepted connections inherit the option.
	if err = unix.SetsockoptInt(l.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	return errors.Join(l.control(unix.EPOLL_CTL_ADD, l.listener, unix.EPOLLIN), l.control(unix.EPOLL_CTL_ADD, l.wake, unix.EPOLLIN))
}

func (l *loop) control(op, fd int, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, op, fd, &e))
}

// close closes everything that is open.
func (l *loop) close() {
	for _, c := range l.conns {
		if c != nil {
			c.tls.End()
			_ = unix.Close(c.fd)
		}
	}
	l.shakes.Wait() // they wake the loop
	for _, fd := range []int{l.listener, l.wake, l.epoll} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// run runs the loop until stop or an error.
func (l *loop) run() error {
	// The thread belongs to the loop and ends with it. Its timer slack, 50 µs by default,
	// is removed.
	runtime.LockOSThread()
	defer l.close()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // otherwise events are a little later
	events := make([]unix.EpollEvent, maxEvents)
	for {
		n, err := l.wait(events)
		if err != nil {
			return err
		}
		now := l.now()
		l.gateway.now = now
		for i := range events[:n] {
			switch fd := int(events[i].Fd); fd {
			case l.wake:
				if l.stopping.Load() {
					return nil
				}
				l.settle()
			case l.listener:
				if err := l.accept(); err != nil {
					return err
				}
			default:
				l.happened(l.conns[fd], events[i].Events)
			}
		}
		l.gateway.turn(l.now())
		l.bury()
	}
}

func (l *loop) now() int64 { return time.Since(l.base).Nanoseconds() }

// wait waits for events, at most until a stream is due.
func (l *loop) wait(events []unix.EpollEvent) (int, error) {
	left := l.gateway.wheel.wait(l.now())
	for {
		n, err := l.poll(events, left)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS) && !l.coarse:
			l.coarse = true
		case err != nil:
			return 0, os.NewSyscallError("epoll_wait", err)
		default:
			return n, nil
		}
	}
}

// poll waits for at most left nanoseconds, or forever if left is negative.
func (l *loop) poll(events []unix.EpollEvent, left int64) (int, error) {
	if left < 0 || l.coarse {
		ms := -1
		if left >= 0 {
			ms = int((left + 999_999) / 1_000_000)
		}
		return unix.EpollWait(l.epoll, events, ms)
	}
	ts := unix.NsecToTimespec(left)
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// accept accepts pending connections, at most maxAccepts.
func (l *loop) accept() error {
	for range maxAccepts {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.ENOBUFS):
			// The others wait until a connection is closed.
			l.full = true
			return l.control(unix.EPOLL_CTL_MOD, l.listener, 0)
		case err != nil:
			continue // already closed by the client
		}
		for fd >= len(l.conns) {
			l.conns = append(l.conns, make([]*conn, max(64, len(l.conns)))...)
		}
		c := &conn{gateway: l.gateway, fd: fd}
		l.conns[fd] = c
		if err := l.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLRDHUP); err != nil {
			return err
		}
		if l.shakes.config != nil {
			l.secure(c)
		}
	}
	return nil
}

// happened reads, and writes buffered bytes.
func (l *loop) happened(c *conn, events uint32) {
	if c == nil || c.closed {
		return
	}
	switch {
	case events&(unix.EPOLLERR|unix.EPOLLHUP) != 0:
		c.drop()
		return
	case events&(unix.EPOLLRDHUP|unix.EPOLLIN) == unix.EPOLLRDHUP:
		c.drop() // reading is paused, and the client has closed
		return
	case events&unix.EPOLLOUT != 0:
		c.flush()
	}
	if events&unix.EPOLLIN == 0 || c.closed {
		return
	}
	n, err := unix.Read(c.fd, l.buffer)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
	case err != nil || n == 0:
		c.drop()
	default:
		l.gateway.now = l.now() // the bytes may have arrived after the turn began
		if c.tls == nil {
			c.received(l.buffer[:n])
		} else {
			l.receivedTLS(c, l.buffer[:n])
		}
	}
}

// bury closes dropped connections. It runs between turns, so that a descriptor names the
// same connection throughout a turn.
func (l *loop) bury() {
	for i, c := range l.gateway.doomed {
		c.tls.End()
		_ = unix.Close(c.fd)
		l.conns[c.fd] = nil
		l.gateway.doomed[i] = nil
	}
	if len(l.gateway.doomed) > 0 && l.full {
		l.full = false
		_ = l.control(unix.EPOLL_CTL_MOD, l.listener, unix.EPOLLIN) // it is open
	}
	l.gateway.doomed = l.gateway.doomed[:0]
}

func (l *loop) write(c *conn, p []byte) (int, error) {
	if c.tls != nil {
		return writeTLS(c.tls, p)
	}
	return send(int32(c.fd), p)
}

// send writes to a socket; n is 0 if it has no room.
func send(fd int32, p []byte) (n int, err error) {
	for {
		n, err := unix.Write(int(fd), p)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}

func (l *loop) watch(c *conn, read, write bool) {
	events := uint32(unix.EPOLLRDHUP)
	if read {
		events |= unix.EPOLLIN
	}
	if write {
		events |= unix.EPOLLOUT
	}
	if err := l.control(unix.EPOLL_CTL_MOD, c.fd, events); err != nil {
		c.drop()
	}
}
