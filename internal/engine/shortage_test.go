package engine

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

func TestAShortageIsNotedFromItsTimeOn(t *testing.T) {
	var s shortage
	s.note(errors.New("connection refused"))
	s.note(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	before, last := s.since(0)
	if before != 0 || last != "" {
		t.Fatalf("a refused connection counts as a shortage: %d, %q", before, last)
	}
	s.note(fmt.Errorf("dial: %w", syscall.EMFILE))
	after, last := s.since(before)
	if after != 1 || last == "" {
		t.Fatalf("got %d, %q, want one shortage", after, last)
	}
	if _, last := s.since(after); last != "" {
		t.Errorf("%q counts again", last)
	}
}
