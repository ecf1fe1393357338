package tree

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestAQueueKeepsOrderAndDropsARepeatedEvent(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	for _, e := range []Event{{Created, "/a"}, {Written, "/a"}, {Written, "/a"}, {Changed, "/a"}, {Written, "/a"}} {
		q.Add(e)
	}
	var got []string
	for _, e := range q.Pending() {
		got = append(got, string(e.Op))
	}
	if s := strings.Join(got, " "); s != "create write chmod write" {
		t.Errorf("pending: %s", s)
	}
}

func TestNextWaitsForAnEventTheEndOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type result struct {
			e   Event
			err error
		}
		for name, c := range map[string]struct {
			do   func(q *Queue, cancel func())
			want result
		}{
			"event":   {func(q *Queue, _ func()) { q.Add(Event{Created, "/x"}) }, result{Event{Created, "/x"}, nil}},
			"close":   {func(q *Queue, _ func()) { q.Close() }, result{err: fs.ErrClosed}},
			"failure": {func(q *Queue, _ func()) { q.Fail(syscall.EOVERFLOW) }, result{err: syscall.EOVERFLOW}},
			"context": {func(_ *Queue, cancel func()) { cancel() }, result{err: context.Canceled}},
		} {
			q := &Queue{}
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan result, 1)
			go func() {
				e, err := q.Next(ctx)
				got <- result{e, err}
			}()
			synctest.Wait()
			if len(got) != 0 {
				t.Errorf("%s: Next does not wait", name)
			}
			c.do(q, cancel)
			if r := <-got; r.e != c.want.e || !errors.Is(r.err, c.want.err) {
				t.Errorf("%s: %+v, want %+v", name, r, c.want)
			}
			cancel()
		}
	})
}

func TestAFullQueueGivesWhatItKeptAndThenOverflow(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	for i := range MaxEvents + 10 {
		q.Add(Event{Created, strconv.Itoa(i)})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range MaxEvents {
		if e, err := q.Next(ctx); err != nil || e.Path != strconv.Itoa(i) {
			t.Fatalf("event %d is %+v, %v", i, e, err)
		}
	}
	if _, err := q.Next(ctx); !errors.Is(err, syscall.EOVERFLOW) {
		t.Errorf("after the events: %v", err)
	}
}
