//go:build linux && (amd64 || arm64)

package fast_test

import (
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// enough ends a run when four streams have started and 12 gaps were measured.
type enough struct {
	gaps int64
	stop func()
}

func (e *enough) Begin(string, time.Duration, int) {}
func (e *enough) End()                             {}

func (e *enough) Tick(now load.Tick) {
	if e.gaps += now.Gap.Count; e.gaps >= 12 && now.Started >= 4 {
		e.stop()
	}
}
