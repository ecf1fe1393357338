package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/testkit"
)

// waitForHeld waits until the bytes that a budget counts fit.
func waitForHeld(t *testing.T, b *budget, fit func(n int64) bool) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if n := b.held.Load(); !fit(n) {
			return fmt.Errorf("%d bytes count", n)
		}
		return nil
	})
}

func none(n int64) bool { return n == 0 }

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
	t.Parallel()
	const size = 2 << 20
	tab, _, _ := newStubTable(t)
	for range size >> 20 {
		_, sub := run(t, tab, Spec{Config: &envd.ProcessConfig{Cmd: strings.Repeat("x", 1<<20)}, Command: strings.Repeat("x", 1<<20)})
		sub.close()
	}
	held := newBudgets()
	held.lists.most /= 8
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
			for n := int64(size); n < held.lists.most; n += size {
				all.Go(func() {
					if err := list(reading); err != nil {
						t.Error(err)
					}
				})
				waitForHeld(t, &held.lists, func(got int64) bool { return got >= n })
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if err := list(ended); connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Errorf("one too many: %v", err)
			}
			written()
			all.Wait()
			waitForHeld(t, &held.lists, none)
			if err := list(ended); err != nil {
				t.Error(err)
			}
			waitForHeld(t, &held.lists, none)
		})
	}
}

// A process that does not read its input holds messages, so there is a limit for all.
func TestInputThatWaitsIsBounded(t *testing.T) {
	t.Parallel()
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
				waitForHeld(t, &s.inputs, func(got int64) bool { return got >= n })
			}
			late, cancel := context.WithTimeout(t.Context(), testkit.Limit)
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
