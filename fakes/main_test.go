package fakes

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain finds goroutines that a test leaves behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(patient{m}) }

// patient gives goroutines that wind down more time than goleak does, half a second:
// a machine may stand still for longer.
type patient struct{ *testing.M }

func (p patient) Run() int {
	code := p.M.Run()
	for limit := time.Now().Add(30 * time.Second); code == 0 && goleak.Find() != nil && time.Now().Before(limit); {
		continue
	}
	return code
}
