package virtual

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// alone reports whether this process runs only the test. Otherwise it runs the test
// in a separate process, reports the result, and returns false. Garbage of earlier
// tests would count as memory in use before the test, and make every measurement too
// small.
func alone(t *testing.T) bool {
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
	cmd := exec.Command(self, "-test.run="+pattern, "-test.v", "-test.count=1", "-test.timeout=5m")
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

func descriptorCount(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("SKIPPED: descriptors cannot be counted here: %v", err)
	}
	return len(entries)
}

// memoryInUse returns the bytes of the heap and of goroutine stacks. It collects
// twice, because pools survive one collection.
func memoryInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
