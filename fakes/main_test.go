package fakes

import (
	"testing"

	"assay/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
