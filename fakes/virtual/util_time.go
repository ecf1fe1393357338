package virtual

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// sleepProgram waits for the sum of its arguments: decimal numbers with s, m, h, d or nothing behind, or infinity.
func sleepProgram(t *task) int {
	if len(t.args) < 2 {
		return t.fail("missing operand")
	}
	total := 0.0
	for _, arg := range t.args[1:] {
		seconds, ok := parseInterval(arg)
		if !ok {
			return t.fail("invalid time interval '%s'", arg)
		}
		total += seconds
	}
	if total >= float64(math.MaxInt64/int64(time.Second)) {
		<-t.p.done
		return 0
	}
	timer := time.NewTimer(time.Duration(total * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.p.done:
	}
	return 0
}

func parseInterval(s string) (seconds float64, ok bool) {
	if s == "infinity" || s == "inf" {
		return math.Inf(1), true
	}
	unit := 1.0
	if s != "" {
		if at := strings.IndexByte("smhd", s[len(s)-1]); at >= 0 {
			unit = [...]float64{1, 60, 3600, 86400}[at]
			s = s[:len(s)-1]
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v * unit, err == nil && v >= 0 && strings.Trim(s, "0123456789.+") == ""
}
