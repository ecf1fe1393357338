package attach_test

import (
	"testing"

	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
