package engine

import (
	"testing"

	"assay/internal/record/bundle"
)

func TestOnlyTheTargetItselfDiesWhenItRefuses(t *testing.T) {
	const target = "127.0.0.1:8081"
	for name, tc := range map[string]struct {
		conn bundle.Conn
		want bool
	}{
		"refused":              {bundle.Conn{Remote: target, DialError: "dial tcp 127.0.0.1:8081: connect: connection refused"}, true},
		"not there in time":    {bundle.Conn{Remote: target, DialError: "dial tcp 127.0.0.1:8081: i/o timeout", DialTimeout: true}, false},
		"a sandbox that ended": {bundle.Conn{Remote: "127.0.0.1:9000", DialError: "dial tcp 127.0.0.1:9000: connect: connection refused"}, false},
		"connected":            {bundle.Conn{Remote: target}, false},
	} {
		o := &bundle.Observation{Iterations: []bundle.Iteration{{}, {Conns: []bundle.Conn{tc.conn}}}}
		if got := refusedAt(o, target); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
