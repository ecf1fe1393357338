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
