package reports

import (
	"slices"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// bodies decodes the stored bytes of a connection again and returns the response body
// of each exchange, as far as the bytes were kept. exchanges are those of the connection,
// in any order.
func bodies(c *bundle.Conn, exchanges []*bundle.Exchange) map[*bundle.Exchange][]byte {
	order := slices.Clone(exchanges)
	slices.SortStableFunc(order, func(a, b *bundle.Exchange) int { return int(a.Invoked.N - b.Invoked.N) })
	_, data := known(&c.Received, 0)
	out := map[*bundle.Exchange][]byte{}
	next := 0
	d := wire.ResponseDecoder{
		Method: func() string {
			if next >= len(order) {
				return ""
			}
			if m := order[next].Request.Method; m != "" {
				return m
			}
			return "POST"
		},
		OnHead: func(wire.Head) {},
		OnBody: func(p []byte) {
			if next < len(order) {
				out[order[next]] = append(out[order[next]], p...)
			}
		},
		OnEnd:       func([]wire.Field) { next++ },
		Upgrade:     func() bool { return next < len(order) && order[next].Switched() },
		OnSwitched:  func(p []byte) { out[order[next]] = append(out[order[next]], p...) },
		OnViolation: func(wire.Violation) {},
	}
	d.Feed(data)
	return out
}
