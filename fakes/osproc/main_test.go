package osproc

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain finds goroutines that a process leaves behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
