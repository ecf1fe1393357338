package engine

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// trickle starts a process for every client and sends an event at each interval; after
// so many times a last event ends the stream.
func trickle(t *testing.T, event string, every time.Duration, times int) string {
	t.Helper()
	return serve(t, func(c net.Conn) {
		streamThenSilence(c)
		frame := func(flags byte, text string) string {
			return fmt.Sprintf("%x\r\n%c\x00\x00\x00%c%s\r\n", len(text)+5, flags, len(text), text)
		}
		for range times {
			time.Sleep(every) //nolint:forbidigo // the pace of the server is what is tested
			if _, err := io.WriteString(c, frame(0, event)); err != nil {
				return
			}
		}
		_, _ = io.WriteString(c, frame(0, `{"event":{"end":{"exited":true,"status":"exit status 0"}}}`)+frame(2, "{}")+"0\r\n\r\n")
	})
}

const (
	dataEvent = `{"event":{"data":{"stdout":"eHg="}}}`
	pingEvent = `{"event":{"keepalive":{}}}`
)

// Each event comes well within the limit; all of them together take twice the limit.
func TestAStreamThatDeliversIsNotLate(t *testing.T) {
	for name, script := range map[string]string{
		"within a wait":                "deadline: 10m\nsteps: [{start: {as: p, sh: x}}, {await: {on: p, done: true, within: LIMIT}}]",
		"longer than within":           "deadline: 10m\nsteps: [{start: {as: p, sh: x}}, {await: {on: p, done: true, idle: LIMIT, within: LIMIT}}]",
		"within a wait for bytes":      "deadline: 10m\nsteps: [{start: {as: p, sh: x}}, {await: {on: p, bytes: 1000, within: LIMIT}}]",
		"within a start":               "deadline: 10m\nsteps: [{start: {as: p, sh: x, wait: end, within: LIMIT}}]",
		"within the iteration":         "deadline: LIMIT\nsteps: [{start: {as: p, sh: x}}, {await: {on: p, done: true}}]",
		"while something else is done": "deadline: LIMIT\nsteps: [{start: {as: p, sh: x}}, {pause: LONGER}, {await: {on: p, done: true}}]",
		"after the last step":          "deadline: LIMIT\nsteps: [{start: {as: p, sh: x}}]\nexpect: {p: {end: {code: 0}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delivered := func(o *bundle.Observation) bool {
				it := &o.Iterations[0]
				p := it.Exchange("p")
				return p != nil && len(p.Events) > 15 && !slices.ContainsFunc(it.Awaits, func(a bundle.Await) bool { return !a.Met })
			}
			o := longer(200*time.Millisecond, func(d time.Duration) *bundle.Observation {
				b := newBench(t, trickle(t, dataEvent, d/10, 20))
				return b.run(strings.NewReplacer("LIMIT", d.String(), "LONGER", (3 * d / 2).String()).Replace(script))
			}, delivered)
			if it := &o.Iterations[0]; !delivered(o) {
				t.Errorf("%d events came, outcome %q, awaits %+v", len(it.Exchange("p").Events), it.Exchange("p").Outcome, it.Awaits)
			}
		})
	}
}

// Keepalives keep coming, and nothing else does.
func TestAStreamThatOnlySendsKeepalivesIsLate(t *testing.T) {
	const limit = 300 * time.Millisecond
	for name, script := range map[string]string{
		"for a wait":       "deadline: 10m\nsteps: [{start: {as: p, sh: x}}, {await: {on: p, done: true, within: 300ms}}]",
		"for an iteration": "deadline: 300ms\nsteps: [{start: {as: p, sh: x}}, {await: {on: p, done: true}}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Keepalives would end the wait well only after six times its limit.
			o := newBench(t, trickle(t, pingEvent, limit/10, 1_000_000)).run(script)
			it := &o.Iterations[0]
			last := it.Awaits[len(it.Awaits)-1]
			events := it.Exchange("p").Events
			if last.Met || last.Deadline > int64(limit) || last.Ended.T-last.Began.T < last.Deadline {
				t.Errorf("await %+v", last)
			}
			if n := len(events); n > 0 && time.Duration(events[n-1].At.T-last.Began.T) > lasting(limit).most-limit {
				t.Errorf("the wait lasted while %d events came, the last %v after its beginning", n, time.Duration(events[n-1].At.T-last.Began.T))
			}
		})
	}
}
