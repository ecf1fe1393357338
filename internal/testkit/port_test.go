package testkit

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestAClosedPortRefusesUntilItListens(t *testing.T) {
	addr, listen := ClosedPort(t)
	if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, %v; want a refusal", c, err)
	}
	if l, err := net.Listen("tcp", addr); err == nil {
		_ = l.Close()
		t.Error("somebody else can listen there")
	}
	listen()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

func TestAServerListensAtAReservedPortAgainAndAgain(t *testing.T) {
	addr := ReservedPort(t)
	for range 2 {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Close(), l.Close()
	}
}
