package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// runLimit bounds one run over all calls.
const runLimit = 5 * time.Minute

// judge is a process of judge.mjs, which makes the calls of several runs side by side.
type judge struct {
	node   *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	done   chan struct{} // closed when node has ended
	end    error         // what was wrong with the end, once done is closed

	mu   sync.Mutex
	runs map[int]*run // by id, until they end
	last int
}

// run is what a script makes of a gateway.
type run struct {
	name  string
	call  string // begun last; judge.mu guards it
	lines chan line
}

// mostLines is more than the lines of any run, so that a test that reads no further does not hold up the other runs.
const mostLines = 1000

// line is one line of judge.mjs.
type line struct {
	ID     int    `json:"id"`
	Begins string `json:"begins"`
	Broken string `json:"broken"`
	call
	Summary *summary `json:"summary"`
}

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

// shared is the judge of all gateways without TLS, and endShared ends it.
var (
	shared = sync.OnceValues(func() (*judge, error) {
		j, err := newJudge("")
		if err == nil {
			endShared = j.close
		}
		return j, err
	})
	endShared = func() error { return nil }
)

// judgeOf returns a judge that trusts the certificate of g. Node reads only when it starts whom it trusts.
func judgeOf(t *testing.T, g endpoint) *judge {
	t.Helper()
	if g.ca == "" {
		j, err := shared()
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j, err := newJudge(g.ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// newJudge starts node, which trusts the authority in the file ca, if there is one.
func newJudge(ca string) (*judge, error) {
	j := &judge{node: exec.Command("node", "judge.mjs"), runs: map[int]*run{}, done: make(chan struct{})}
	j.node.Env = append(clean(), "NODE_EXTRA_CA_CERTS="+ca)
	j.node.Stderr = &j.stderr
	var err error
	if j.stdin, err = j.node.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := j.node.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.node.Start(); err != nil {
		return nil, err
	}
	go j.read(out)
	return j, nil
}

// close tells node to end, and returns what was wrong with its end.
func (j *judge) close() error {
	_ = j.stdin.Close()
	defer time.AfterFunc(stopLimit, func() { _ = j.node.Process.Kill() }).Stop()
	<-j.done
	return j.end
}

// read passes on the lines of node until it ends.
func (j *judge) read(out io.Reader) {
	defer close(j.done)
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	wrong := ""
	for wrong == "" && in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			wrong = fmt.Sprintf("a line of it is no JSON: %v: %q; ", err, in.Text())
			break
		}
		j.pass(l)
	}
	if wrong != "" || in.Err() != nil {
		_ = j.node.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
	}
	err := j.node.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	var running strings.Builder
	for _, r := range j.runs {
		fmt.Fprintf(&running, "\n%s: %q", r.name, r.call)
	}
	if err != nil || len(j.runs) > 0 {
		j.end = fmt.Errorf("node ended: %s%v, in these calls:%s\n%s", wrong, j.node.ProcessState, &running, &j.stderr)
	}
}

// pass gives a line to its run.
func (j *judge) pass(l line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.runs[l.ID]
	switch {
	case r == nil: // it was given up
	case l.Begins != "":
		r.call = l.Begins
	default:
		r.lines <- l
	}
}

// add makes a run of a test.
func (j *judge) add(test string) (id int, r *run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	r = &run{name: test, lines: make(chan line, mostLines)}
	j.runs[j.last] = r
	return j.last, r
}

// remove forgets a run.
func (j *judge) remove(id int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.runs, id)
}

// called is the call that a run began last.
func (j *judge) called(r *run) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return r.call
}

// make lets a script make its calls to g. Each is handed to seen as it ends. An error means that
// the run did not come to its end, or contradicts itself; calls that fail are no error.
func (j *judge) make(t *testing.T, g endpoint, s script, seen func(call)) (summary, error) {
	id, r := j.add(t.Name())
	defer j.remove(id)
	asked := map[string]any{"id": id, "file": s.file, "url": g.url, "mode": s.mode, "pattern": s.pattern, "token": g.token}
	_ = json.NewEncoder(j.stdin).Encode(asked) // this fails when node has ended
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	for calls, failed := 0, 0; ; {
		select {
		case <-j.done:
			return summary{}, fmt.Errorf("%s made %d calls until %w", s.file, calls, j.end)
		case <-ctx.Done():
			return summary{}, fmt.Errorf("%s was not done after %v, with %d calls made, in %q", s.file, runLimit, calls, j.called(r))
		case l := <-r.lines:
			switch end := l.Summary; {
			case l.Broken != "":
				return summary{}, fmt.Errorf("%s ended after %d calls: %s", s.file, calls, l.Broken)
			case end != nil && (end.Calls != calls || end.Failed != failed):
				return summary{}, fmt.Errorf("%d of %d calls failed, and the summary says %d of %d", failed, calls, end.Failed, end.Calls)
			case end != nil:
				return *end, nil
			}
			calls++
			if !l.OK {
				failed++
			}
			seen(l.call)
		}
	}
}
