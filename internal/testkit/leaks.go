package testkit

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine may take to end behind its test.
const patience = 30 * time.Second

// Main is the whole of a TestMain: it runs the tests of a package, and fails when all of
// them pass and goroutines that they started go on.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := lasting(patience); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// CheckLeaks fails the test when goroutines go on at its end that are not there now. Its
// cleanup runs behind those that are registered later.
func CheckLeaks(t testing.TB) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := lasting(patience, before); err != nil {
			t.Error(err)
		}
	})
}

// lasting is what still goes on when the time is over.
func lasting(patience time.Duration, options ...goleak.Option) error {
	for end := time.Now().Add(patience); ; {
		err := find(options)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// find looks once. goleak 1.3.0 panics at a stack of more than 100 frames, which is one that goes on.
func find(options []goleak.Option) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("goleak cannot read a stack: %v", p)
		}
	}()
	return goleak.Find(options...)
}
