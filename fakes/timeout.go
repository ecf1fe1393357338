package fakes

import (
	"net/http"
	"strconv"
	"time"
)

// maxTimeoutDigits is how long the value of Connect-Timeout-Ms may be.
const maxTimeoutDigits = 10

// parseTimeout reads Connect-Timeout-Ms: one to ten digits, and more than zero.
// connect-go takes a sign and 0, which the protocol does not have. 0 is absent.
func parseTimeout(h http.Header) (time.Duration, error) {
	values := h.Values("Connect-Timeout-Ms")
	if len(values) == 0 {
		return 0, nil
	}
	v := values[0]
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return 0, invalid("parse timeout: %q is not a positive integer", v)
		}
	}
	if len(v) > maxTimeoutDigits {
		return 0, invalid("parse timeout: %q has more than %d digits", v, maxTimeoutDigits)
	}
	ms, err := strconv.ParseInt(v, 10, 64)
	if err != nil || ms == 0 || len(values) > 1 {
		return 0, invalid("parse timeout: %q is not one positive integer", v)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
