package sdk_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// stopLimit is what a process may take to end after it was told to.
const stopLimit = 30 * time.Second

// start starts a server, which prints as many URLs, until the test ends.
func start(t *testing.T, c *exec.Cmd, urls int) []string {
	t.Helper()
	c.Env = append(clean(), c.Env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c, &stderr) })
	said := make([]string, urls)
	for i, in := 0, bufio.NewReader(out); i < urls; i++ {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("%s said no URL: %v", strings.Join(c.Args, " "), err)
		}
		said[i] = strings.TrimSpace(line)
	}
	return said
}

// stop interrupts a server and wants it to end well, and not killed as it is when it is late.
func stop(t *testing.T, c *exec.Cmd, stderr *bytes.Buffer) {
	_ = c.Process.Signal(os.Interrupt)
	defer time.AfterFunc(stopLimit, func() { _ = c.Process.Kill() }).Stop()
	if err := c.Wait(); err != nil {
		t.Errorf("within %v of an interrupt the server ended with %v", stopLimit, err)
	}
	if t.Failed() {
		t.Logf("what the server said:\n%s", stderr)
	}
}

// clean is the environment without what steers the SDK, node, or the path of
// requests: a proxy would see what is meant for 127.0.0.1.
func clean() []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		upper := strings.ToUpper(name)
		if strings.HasPrefix(upper, "E2B_") || strings.HasPrefix(upper, "NODE_") || strings.HasSuffix(upper, "_PROXY") || upper == "ASSAY_TOKEN" || upper == "ASSAY_API_KEY" {
			continue
		}
		env = append(env, e)
	}
	return env
}
