package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// UnreachableError says why the target cannot be tested and what to do. It is a missing
// precondition (exit code 3), not a verdict.
type UnreachableError struct {
	URL, Reason, Mend string
	// Doing is what cannot be done with the target; "" is "test".
	Doing string
}

// Error returns at most a few lines: the target, the reason, what to do.
func (e *UnreachableError) Error() string {
	s := fmt.Sprintf("cannot %s %s: %s", cmp.Or(e.Doing, "test"), e.URL, e.Reason)
	if e.Mend != "" {
		s += "\n" + e.Mend
	}
	return s
}

// waitStep is the pause between two attempts of Wait.
const waitStep = 50 * time.Millisecond

// Wait dials until the target accepts a connection, for at most d; d 0 tries
// once. It returns an *UnreachableError, or the error of ctx when that ended first.
func (t *Target) Wait(ctx context.Context, d time.Duration) error {
	deadline := time.Now().Add(d)
	for {
		err := t.DialOnce(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for %s: %w", t.url, ctx.Err())
		}
		left := time.Until(deadline)
		if left <= 0 {
			return t.Unreachable(err)
		}
		step := time.NewTimer(min(waitStep, left))
		select {
		case <-step.C:
		case <-ctx.Done():
			step.Stop()
			return fmt.Errorf("waiting for %s: %w", t.url, ctx.Err())
		}
	}
}

// DialOnce opens a TCP connection, closes it, and returns the error of the dial.
func (t *Target) DialOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.Scaled(callTimeout))
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", t.Addr())
	if err != nil {
		return err
	}
	return conn.Close()
}

// unreachable returns the error for this target.
func (t *Target) unreachable(reason, mend string) *UnreachableError {
	return &UnreachableError{URL: t.shown(), Reason: t.redactor.Text(reason), Mend: mend}
}

// Unreachable explains why no connection to the target could be opened: by err, the error of a dial
// or of a TLS handshake.
func (t *Target) Unreachable(err error) *UnreachableError {
	var dns *net.DNSError
	var network net.Error
	if t.Secure() {
		if u := t.tlsFailure(err); u != nil {
			return u
		}
	}
	switch {
	case errors.As(err, &dns):
		return t.unreachable(fmt.Sprintf("cannot resolve the host name %q (%s).", t.url.Hostname(), dns.Err),
			"Check the spelling, or use the IP address.")
	case errors.Is(err, syscall.ECONNREFUSED):
		return t.unreachable(fmt.Sprintf("nothing listens on %s (connection refused).", t.Addr()),
			"Is the gateway running on this port?")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return t.unreachable(fmt.Sprintf("there is no route to %s.", t.Addr()), "Check the address and the network.")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return t.unreachable(fmt.Sprintf("no connection to %s within %s.", t.Addr(), t.Scaled(callTimeout)),
			"Is a firewall dropping packets? --time-scale extends every deadline.")
	}
	return t.unreachable(strings.TrimSuffix(err.Error(), ".")+".", "")
}
