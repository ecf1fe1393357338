package fakes

import (
	"context"
	"strconv"
	"strings"

	"connectrpc.com/connect"
)

// expiredKey marks a call whose deadline had passed before it came.
type expiredKey struct{}

// readSignedTimeout makes of a Connect-Timeout-Ms what the real daemon makes
// of it: a plus sign is left out, and zero or less is a deadline that has
// passed. Of a stream the daemon notices that only after it has started the
// process, and 0 is no limit to the process itself.
func (c *call) readSignedTimeout() error {
	const name = "Connect-Timeout-Ms"
	v := c.r.Header.Get(name)
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil: // the strict reading has an error for it
		return nil
	case n > 0:
		c.r.Header.Set(name, strings.TrimPrefix(v, "+"))
		return nil
	case c.shape == unary:
		return connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)
	default:
		c.r.Header.Del(name)
		c.r = c.r.WithContext(context.WithValue(c.r.Context(), expiredKey{}, true))
		return nil
	}
}

// hasExpired reports whether the deadline of a call had passed before it came.
func hasExpired(ctx context.Context) bool { return ctx.Value(expiredKey{}) != nil }
