//go:build !race

package virtual

import (
	"testing"

	"assay/internal/testkit"
)

func TestTenThousandIdleTerminalsAreSmall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		argv []string
		most int // bytes
	}{
		{"cat", []string{"cat"}, 12 << 10},
		{"command", sh("sleep 100"), 16 << 10},
		{"shell", []string{"sh", "-i"}, 32 << 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			if testkit.Alone(t) {
				idleTerminals(t, row.argv, row.most)
			}
		})
	}
}
