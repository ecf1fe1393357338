//go:build linux && (amd64 || arm64)

package fast

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// unread keeps the connections whose bytes were peeked at, but not yet removed.
//
// The kernel acknowledges a response of many segments when it is read, with a packet
// that costs a tenth of a short stream. A request that is sent before carries the
// acknowledgement itself. So when the next request is likely to follow at once, the loop
// peeks at the response (MSG_PEEK), writes the request, and then removes the bytes, which
// does not copy them again.
type unread struct {
	segmented bool     // the latest first response of a connection had more than two segments
	ending    bool     // most reads of the last turn ended a response
	before    uint32   // loop.reads at the end of the last turn
	conns     []uint64 // the keys of connections with unremoved bytes
	info      unix.TCPInfo
}

// few is how many segments the kernel accepts without an immediate acknowledgement.
const few = 2

// pays reports whether bytes should be removed only after the next request.
func (u *unread) pays() bool { return u.segmented && u.ending }

// take reads a connection once, or peeks at it. It does not peek if popIdle will check the
// connection, because popIdle removes the bytes before the request.
func (l *loop) take(ci int32, c *conn) (n int, stamp int64, e unix.Errno) {
	l.remove(c)
	if !l.unread.pays() || !c.proven || l.cautious {
		return l.recv.read(c.fd)
	}
	n, stamp, e = l.recv.peek(c.fd)
	if n > 0 {
		c.unread = int32(n) //nolint:gosec // at most readSize
		l.unread.conns = append(l.unread.conns, c.key(ci))
	}
	return n, stamp, e
}

// remove removes the bytes that were peeked at.
func (l *loop) remove(c *conn) {
	if c.unread > 0 {
		discard(c.fd, int(c.unread))
		c.unread = 0
	}
}

// endUnread ends a turn in which ended responses ended: it removes the bytes that were not
// followed by a request, and decides whether the next turn peeks.
func (l *loop) endUnread(ended int) {
	u := &l.unread
	for _, k := range u.conns {
		ci := int32(uint32(k)) //nolint:gosec // an index
		if c := l.conns.At(ci); c.state != connFree && c.key(ci) == k {
			l.remove(c)
		}
	}
	u.conns = u.conns[:0]
	if reads := l.reads - u.before; reads > 0 {
		u.ending = ended*2 > int(reads)
		u.before = l.reads
	}
}

// learnSegments reads, at the end of a connection's first response, whether it had more
// than few segments.
func (l *loop) learnSegments(c *conn) {
	info := &l.unread.info
	size := uint32(unix.SizeofTCPInfo)
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(c.fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&size)), 0)
	l.unread.segmented = e == 0 && info.Data_segs_in > few
}
