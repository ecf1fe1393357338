//go:build unix

package osproc

import (
	"testing"

	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
