package osproc

import (
	"testing"

	"assay/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
