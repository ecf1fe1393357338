package testkit

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Alone reports whether this process runs only the test. Otherwise it runs the test in a separate
// process, reports the result, and returns false. A test that measures memory runs alone: garbage
// of earlier tests, and what the goroutines of others allocate, would count.
func Alone(t *testing.T) bool {
	t.Helper()
	const mark = "ASSAY_TEST_ALONE"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), self, "-test.run="+pattern, "-test.v", "-test.count=1", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	out, err := cmd.CombinedOutput()
	switch ran := strings.Contains(string(out), "--- PASS: "+t.Name()+" "); {
	case err != nil:
		t.Errorf("in a separate process: %v\n%s", err, out)
	case !ran && strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in a separate process:\n%s", out)
	case !ran:
		t.Errorf("it did not run in a separate process:\n%s", out)
	default:
		t.Logf("in a separate process:\n%s", out)
	}
	return false
}
