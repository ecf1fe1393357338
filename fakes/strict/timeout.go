package strict

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
)

// The longest values of the timeout headers, in digits.
const (
	maxConnectDigits = 10
	maxGRPCDigits    = 8
)

// ParseTimeout reads the timeout of a call; 0 means that there is none.
func (p Protocol) ParseTimeout(h http.Header) (time.Duration, error) {
	if p.IsGRPC() {
		return parseGRPCTimeout(h.Values("Grpc-Timeout"))
	}
	return parseConnectTimeout(h.Values("Connect-Timeout-Ms"))
}

// parseConnectTimeout reads Connect-Timeout-Ms: one to ten digits, more than
// zero. connect-go accepts a sign and 0, which the protocol does not allow.
func parseConnectTimeout(values []string) (time.Duration, error) {
	if len(values) == 0 {
		return 0, nil
	}
	v := values[0]
	if !isDigits(v) {
		return 0, invalid("parse timeout: %q is not a positive integer", v)
	}
	if len(v) > maxConnectDigits {
		return 0, invalid("parse timeout: %q has more than %d digits", v, maxConnectDigits)
	}
	ms, err := strconv.ParseInt(v, 10, 64)
	if err != nil || ms == 0 || len(values) > 1 {
		return 0, invalid("parse timeout: %q is not one positive integer", v)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// parseGRPCTimeout reads grpc-timeout: one to eight digits and a unit. The
// grammar excludes zero, but clients whose deadline has passed send it: the
// call fails at once with deadline_exceeded, and nothing runs.
func parseGRPCTimeout(values []string) (time.Duration, error) {
	if len(values) == 0 {
		return 0, nil
	}
	v := values[0]
	if len(values) > 1 || len(v) < 2 || !isDigits(v[:len(v)-1]) {
		return 0, invalid("parse timeout: grpc-timeout %q is not one positive integer with a unit", v)
	}
	digits := v[:len(v)-1]
	if len(digits) > maxGRPCDigits {
		return 0, invalid("parse timeout: grpc-timeout %q has more than %d digits", v, maxGRPCDigits)
	}
	unit, ok := grpcUnit(v[len(v)-1])
	if !ok {
		return 0, invalid("parse timeout: grpc-timeout %q: the units are H, M, S, m, u and n", v)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil:
		return 0, invalid("parse timeout: grpc-timeout %q: %v", v, err)
	case n == 0:
		return 0, connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)
	case n > int64(math.MaxInt64/unit):
		return 0, nil // too long for a Duration: no deadline
	}
	return time.Duration(n) * unit, nil
}

// grpcUnit returns the unit of a timeout.
func grpcUnit(c byte) (time.Duration, bool) {
	switch c {
	case 'H':
		return time.Hour, true
	case 'M':
		return time.Minute, true
	case 'S':
		return time.Second, true
	case 'm':
		return time.Millisecond, true
	case 'u':
		return time.Microsecond, true
	case 'n':
		return time.Nanosecond, true
	default:
		return 0, false
	}
}

// isDigits reports whether v contains only ASCII digits; true for an empty v.
func isDigits(v string) bool {
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}
