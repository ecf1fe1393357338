//go:build linux && (amd64 || arm64)

package fast

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// unread is about bytes that were taken from a socket, but not yet removed from it.
//
// The kernel acknowledges an answer of many segments when it is read, with a packet
// that costs a tenth of a short stream. A request that leaves before then carries
// the acknowledgement itself. So where the next request is likely to follow at once, an
// answer is looked at (MSG_PEEK), the request is written, and the bytes are removed
// after that, which does not copy them again.
type unread struct {
	segmented bool // the last first answer of a connection came in more than two segments
	ending    bool // most reads of the last turn ended an answer
	before    uint32
	conns     []uint64 // the keys of connections that have such bytes
	info      unix.TCPInfo
}

// few is how many segments the kernel takes without acknowledging them at once.
const few = 2

// pays reports whether bytes should be removed only after the next request.
func (u *unread) pays() bool { return u.segmented && u.ending }

// take reads a connection once. Where popIdle will ask whether the connection lives,
// the bytes are removed before the request whatever is done here.
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

// remove removes the bytes that were looked at.
func (l *loop) remove(c *conn) {
	if c.unread > 0 {
		discard(c.fd, int(c.unread))
		c.unread = 0
	}
}

// settleUnread ends a turn in which so many answers ended: what no request has
// acknowledged is removed, and the next turn's way of reading is chosen.
func (l *loop) settleUnread(ended int) {
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

// learnSegments asks, at the end of a connection's first answer, how it came.
func (l *loop) learnSegments(c *conn) {
	info := &l.unread.info
	size := uint32(unix.SizeofTCPInfo)
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(c.fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&size)), 0)
	l.unread.segmented = e == 0 && info.Data_segs_in > few
}
