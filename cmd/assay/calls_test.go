package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts say `assay …` where a test is about flags, files, messages and exit codes: one process for each script runs
// these commands one after another, by the function that main calls. `exec assay …` starts a process for one command, which
// tests of signals, pipes, limits and standard input need.

// answerCalls is the value of beProgram with which the test binary runs the commands that stdin names.
const answerCalls = "calls"

// invocation is a command of a script.
type invocation struct {
	Args, Env []string
	Dir       string
	Out, Err  string // files for its output
}

// answer runs the calls on stdin, each with its own environment, folder and streams, and writes their exit codes to
// stdout.
func answer() {
	calls, codes := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c invocation
		if err := calls.Decode(&c); err != nil {
			return // the script has ended
		}
		code, err := c.run()
		if err == nil {
			err = codes.Encode(code)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitDefect)
		}
	}
}

// run runs the program as main does.
func (c invocation) run() (code int, err error) {
	os.Clearenv()
	for _, kv := range append(c.Env, beProgram+"=1") { // its children are the program too
		name, value, _ := strings.Cut(kv, "=")
		if name != "" {
			if err := os.Setenv(name, value); err != nil {
				return 0, err
			}
		}
	}
	if err := os.Chdir(c.Dir); err != nil {
		return 0, err
	}
	debug.SetMemoryLimit(math.MaxInt64) // what an earlier --memory has set
	for file, name := range map[**os.File]string{&os.Stdin: os.DevNull, &os.Stdout: c.Out, &os.Stderr: c.Err} {
		before := *file
		if *file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
			return 0, err
		}
		defer func() {
			_ = (*file).Close()
			*file = before
		}()
	}
	return onStandardStreams(c.Args), nil
}

// caller is the process that runs the commands of a script.
type caller struct {
	calls *json.Encoder
	codes *json.Decoder
	errs  bytes.Buffer // what it writes beside the output of a command, such as a panic of the test
	dir   string       // of the files for the output of a command
	names []string     // of the variables of the script
}

// setVariable finds the variables that a script sets.
var setVariable = regexp.MustCompile(`(?m)^(?:\[\S+\] )?env (\w+)=`)

// variables returns the names of variables, each with its value.
func variables(env []string) []string {
	var names []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

// start starts the process of a script. It ends with the script.
func (c *caller) start(ts *testscript.TestScript) {
	cmd := exec.Command(os.Args[0]) //nolint:gosec // the test's own binary
	cmd.Env, cmd.Stderr = append(os.Environ(), beProgram+"="+answerCalls), &c.errs
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	c.dir, err = os.MkdirTemp("", "calls")
	ts.Check(err)
	ts.Check(cmd.Start())
	c.calls, c.codes = json.NewEncoder(in), json.NewDecoder(out)
	text, err := os.ReadFile(filepath.Join(scriptDir, ts.Name()+".txtar"))
	ts.Check(err)
	for _, m := range setVariable.FindAllStringSubmatch(string(text), -1) {
		c.names = append(c.names, m[1])
	}
	ts.Defer(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			ts.Logf("the commands of the script: %v\n%s", err, &c.errs)
		}
		_ = os.RemoveAll(c.dir)
	})
}

// call runs a command and returns its exit code. The script has its output.
func (c *caller) call(ts *testscript.TestScript, args []string) (code int) {
	if c.calls == nil {
		c.start(ts)
	}
	o := invocation{Args: args, Dir: ts.MkAbs("."), Out: filepath.Join(c.dir, "stdout"), Err: filepath.Join(c.dir, "stderr")}
	for _, name := range c.names {
		if value := ts.Getenv(name); value != "" {
			o.Env = append(o.Env, name+"="+value)
		}
	}
	for _, file := range []string{o.Out, o.Err} {
		ts.Check(os.WriteFile(file, nil, 0o600))
	}
	ts.Check(c.calls.Encode(o))
	err := c.codes.Decode(&code)
	for file, to := range map[string]io.Writer{o.Out: ts.Stdout(), o.Err: ts.Stderr()} {
		text, err := os.ReadFile(file) //nolint:gosec // of the test
		ts.Check(err)
		_, _ = to.Write(text)
	}
	if err != nil {
		ts.Fatalf("the process of the script has ended: %v\n%s", err, &c.errs)
	}
	return code
}

// cmdAssay runs the program: assay list, or ! assay list extra.
func cmdAssay(ts *testscript.TestScript, neg bool, args []string) {
	if code := ts.Value("caller").(*caller).call(ts, args); neg == (code == 0) {
		ts.Fatalf("exit code %d\nstdout:\n%s\nstderr:\n%s", code, ts.Stdout(), ts.Stderr())
	}
}
