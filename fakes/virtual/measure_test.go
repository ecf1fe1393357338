package virtual

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// alone says whether this is a process that runs the test and nothing else. In one
// that runs others too, it starts such a process, reports what that one found, and
// says no. What earlier tests leave to the collector would count as memory that was
// there before, and make everything measured against it too small.
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
		t.Errorf("in a process of its own: %v\n%s", err, out)
	case !ran && strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in a process of its own:\n%s", out)
	case !ran:
		t.Errorf("it did not run in a process of its own:\n%s", out)
	default:
		t.Logf("in a process of its own:\n%s", out)
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

// memoryInUse is what the heap and the stacks of goroutines take, in bytes. Collected
// twice: what a pool holds survives once.
func memoryInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
