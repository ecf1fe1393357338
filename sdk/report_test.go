package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

// runLimit bounds one run over all calls.
const runLimit = 5 * time.Minute

// script is a program of this folder that makes calls.
type script struct {
	file    string
	mode    string // what the commands of the gateway are
	pattern string // for the names of calls; "" is all
}

// The programs that make calls.
const (
	viaSDK         = "calls.mjs"
	viaSandboxes   = "sandboxes.mjs"
	viaInterpreter = "execute.mjs"
	viaStdio       = "stdio.mjs"
)

// call is what a program said of one call.
type call struct {
	Name  string  `json:"name"`
	OK    bool    `json:"ok"`
	MS    float64 `json:"ms"`
	Error string  `json:"error"`
}

// summary is the last line of a run.
type summary struct {
	Mode   string  `json:"mode"`
	Client string  `json:"client"`
	Node   string  `json:"node"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	MS     float64 `json:"ms"`
}

// line is one line of a run: a call or the summary.
type line struct {
	call
	Summary *summary `json:"summary"`
}

// judge lets a script make its calls to g. Each is handed to seen as it ends. An error means that
// the run did not come to its end, or contradicts itself; calls that fail are no error.
func judge(ctx context.Context, g gateway, s script, seen func(call)) (summary, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	node := exec.CommandContext(ctx, "node", s.file, g.url, s.mode, s.pattern)
	node.Env = append(clean(), "ASSAY_TOKEN="+g.token, "NODE_EXTRA_CA_CERTS="+g.ca)
	node.WaitDelay = time.Second
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.StdoutPipe()
	if err != nil {
		return summary{}, err
	}
	if err := node.Start(); err != nil {
		return summary{}, err
	}
	end, calls, failed, readErr := read(out, seen)
	waitErr := node.Wait()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return summary{}, fmt.Errorf("%s was not done after %v, with %d calls made\n%s", s.file, runLimit, calls, &stderr)
	case readErr != nil:
		return summary{}, fmt.Errorf("%w\n%s", readErr, &stderr)
	case waitErr != nil && (!errors.As(waitErr, &exit) || exit.ExitCode() != 1):
		return summary{}, fmt.Errorf("node ended with %w\n%s", waitErr, &stderr)
	case end == nil:
		return summary{}, fmt.Errorf("node ended after %d calls without a summary\n%s", calls, &stderr)
	case end.Calls != calls || end.Failed != failed || (waitErr != nil) != (failed > 0):
		return summary{}, fmt.Errorf("%d of %d calls failed, the summary says %d of %d, and node ended with %w", failed, calls, end.Failed, end.Calls, waitErr)
	}
	return *end, nil
}

// read reads the lines of a run to its end.
func read(out io.Reader, seen func(call)) (end *summary, calls, failed int, err error) {
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			_, _ = io.Copy(io.Discard, out)
			return nil, calls, failed, fmt.Errorf("a line of the run is no JSON: %w: %q", err, in.Text())
		}
		if l.Summary != nil {
			end = l.Summary
			continue
		}
		calls++
		if !l.OK {
			failed++
		}
		seen(l.call)
	}
	return end, calls, failed, in.Err()
}

// table draws the calls with their times.
func table(calls []call) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range calls {
		verdict := "ok"
		if !c.OK {
			verdict = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%.1f ms\t  %s\n", verdict, c.MS, c.Name)
	}
	w.Flush()
	return b.String()
}
