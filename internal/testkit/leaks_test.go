package testkit

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

func TestAGoroutineThatGoesOnIsFound(t *testing.T) {
	before := goleak.IgnoreCurrent()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		<-stop
		close(ended)
	}()
	if err := lasting(0, before); err == nil || !strings.Contains(err.Error(), "TestAGoroutineThatGoesOnIsFound") {
		t.Errorf("got %v", err)
	}
	close(stop)
	<-ended
	if err := lasting(patience, before); err != nil {
		t.Error(err)
	}
}

// goleak gives up after less than half a second.
func TestAGoroutineThatTakesASecondToEndIsNone(t *testing.T) {
	CheckLeaks(t)
	go func() { <-time.After(time.Second) }()
}

// deep blocks at the end of a stack of n calls.
func deep(n int, blocked chan<- bool, stop <-chan struct{}) int {
	if n == 0 {
		blocked <- true
		<-stop
		return 0
	}
	return 1 + deep(n-1, blocked, stop)
}

// goleak panics at such a stack.
func TestAGoroutineWithADeepStackGoesOn(t *testing.T) {
	before := goleak.IgnoreCurrent()
	blocked, stop, ended := make(chan bool), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = deep(200, blocked, stop)
	}()
	<-blocked
	if err := lasting(0, before); err == nil {
		t.Error("it is not found")
	}
	close(stop)
	<-ended
	if err := lasting(patience, before); err != nil {
		t.Error(err)
	}
}
