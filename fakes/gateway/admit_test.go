package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
)

// waitFor waits until what is true.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatal("not yet: " + what)
		}
	}
}

// unread is a response that its client does not read until the end of the test.
type unread struct {
	http.ResponseWriter
	end <-chan struct{}
}

func (w unread) Write(p []byte) (int, error) {
	<-w.end
	return len(p), nil
}

// A client that does not read its list holds memory, so there is a limit for all.
func TestLongListsAreBounded(t *testing.T) {
	const size = 9 << 20
	tab, _, _ := newStubTable(t)
	for range size >> 20 {
		_, sub := run(t, tab, Spec{Config: &envd.ProcessConfig{Cmd: strings.Repeat("x", 1<<20)}, Command: strings.Repeat("x", 1<<20)})
		sub.close()
	}
	held := newBudgets()
	s, c := &service{table: tab, budgets: held}, &commands{table: tab, budgets: held}
	for name, list := range map[string]func(context.Context) error{
		"List": func(ctx context.Context) error {
			_, err := s.List(ctx, nil)
			return err
		},
		"GET /commands": func(ctx context.Context) error {
			return c.list(unread{httptest.NewRecorder(), ctx.Done()}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			reading, written := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for n := int64(size); n < maxLists; n += size {
				all.Go(func() {
					if err := list(reading); err != nil {
						t.Error(err)
					}
				})
				waitFor(t, "the list counts", func() bool { return held.lists.held.Load() >= n })
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if err := list(ended); connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Errorf("one too many: %v", err)
			}
			written()
			all.Wait()
			waitFor(t, "the written lists do not count", func() bool { return held.lists.held.Load() == 0 })
			if err := list(ended); err != nil {
				t.Error(err)
			}
			waitFor(t, "the last list does not count", func() bool { return held.lists.held.Load() == 0 })
		})
	}
}

// A process that does not read its input holds messages, so there is a limit for all.
func TestInputThatWaitsIsBounded(t *testing.T) {
	const size = 15 << 20
	g := startGateway(t, Options{})
	p, sub, err := g.table.Start(Spec{Config: &envd.ProcessConfig{Cmd: "/bin/sleep", Args: []string{"100"}}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.close()
	in := &envd.ProcessInput{Input: &envd.ProcessInput_Stdin{Stdin: make([]byte, size)}}
	for name, m := range map[string]inputMessage{
		"SendInput":   &envd.SendInputRequest{Input: in},
		"StreamInput": &envd.StreamInputRequest_DataEvent{Input: in},
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{table: g.table, budgets: newBudgets()}
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for n := int64(size); n < maxInputs; n += size {
				all.Go(func() {
					if err := s.feed(ctx, p, m); connect.CodeOf(err) != connect.CodeCanceled {
						t.Errorf("it did not wait: %v", err)
					}
				})
				waitFor(t, "the input counts", func() bool { return s.inputs.held.Load() >= n })
			}
			late, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := s.feed(late, p, m); connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Errorf("one too many: %v", err)
			}
			stop()
			all.Wait()
			if n := s.inputs.held.Load(); n != 0 {
				t.Errorf("%d bytes count behind the end", n)
			}
		})
	}
}
