package reproduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http2"

	"assay/internal/base/crash"
	"assay/internal/base/machine"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// arrival is a piece of a tool's output with its time.
type arrival struct {
	after time.Duration // since the tool was started
	data  []byte
}

// printed is the output of a tool and how it ended.
type printed struct {
	arrivals []arrival
	// complete is set when we ended the tool because every response was complete.
	complete bool
	stderr   string
	err      error // it could not run, or exceeded its deadline
}

// bytes returns the whole output.
func (p *printed) bytes() []byte {
	var all []byte
	for _, a := range p.arrivals {
		all = append(all, a.data...)
	}
	return all
}

// maxPrinted limits the output of a tool.
const maxPrinted = 4 << 20

// missing returns an error for programs of a text that are not installed.
func missing(programs ...string) error {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("%s is not installed", p)
		}
	}
	return nil
}

// runShell runs a text with sh in its own process group, with only PATH and the named
// secrets in the environment. It ends the process a moment after done returns true, or
// with ctx.
func runShell(ctx context.Context, text string, secrets []secretHeader, done func([]byte) bool) *printed {
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, s := range secrets {
		cmd.Env = append(cmd.Env, s.variable+"="+s.value)
	}
	cmd.SysProcAttr = machine.OwnGroup()
	end := func() error { return machine.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = end
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &limited{w: &stderr, n: 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return &printed{err: err}
	}
	p := &printed{}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return &printed{err: err}
	}
	p.collect(out, began, done, end)
	err = cmd.Wait()
	p.stderr = strings.TrimSpace(stderr.String())
	switch {
	case p.complete:
	case ctx.Err() != nil:
		p.err = errors.New("stopped: " + noTime)
	case err != nil && len(p.arrivals) == 0:
		p.err = fmt.Errorf("%w: %s", err, p.stderr)
	}
	return p
}

// lull is the wait for more bytes when the response seems complete. It passes in steps, so
// that a pause of the machine uses up only one step.
const (
	lull      = 100 * time.Millisecond
	lullSteps = 4
)

// collect reads until the end, or until a lull after done.
func (p *printed) collect(out io.Reader, began time.Time, done func([]byte) bool, end func() error) {
	pieces := make(chan []byte)
	crash.Go(func() {
		defer close(pieces)
		buf := make([]byte, 32<<10)
		for {
			n, err := out.Read(buf)
			if n > 0 {
				pieces <- bytes.Clone(buf[:n])
			}
			if err != nil {
				return
			}
		}
	})
	var all []byte
	var quiet <-chan time.Time
	left := 0 // steps
	for {
		select {
		case piece, ok := <-pieces:
			if !ok {
				return
			}
			if len(all)+len(piece) > maxPrinted {
				piece = nil
				_ = end() // the pipe closes with the group
			}
			all = append(all, piece...)
			p.arrivals = append(p.arrivals, arrival{time.Since(began), piece})
			if done(all) {
				quiet, left = time.After(lull/lullSteps), lullSteps
			}
		case <-quiet:
			if left--; left > 0 {
				quiet = time.After(lull / lullSteps)
				continue
			}
			p.complete, quiet = true, nil
			_ = end()
		}
	}
}

// limited drops bytes beyond n.
type limited struct {
	w io.Writer
	n int
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.n)]
	l.n -= len(keep)
	_, err := l.w.Write(keep)
	return len(p), err
}

// answered returns a function that reports whether the bytes have a complete response to
// each request of the source.
func (s *source) answered() func([]byte) bool {
	if s.http2() {
		return func(p []byte) bool { return endedStreams(p) >= max(1, len(s.exchanges)) }
	}
	return func(p []byte) bool {
		n := 0
		d := wire.ResponseDecoder{
			Method: func() string {
				if n < len(s.exchanges) && s.exchanges[n].Request.Method != "" {
					return s.exchanges[n].Request.Method
				}
				return "POST"
			},
			OnEnd: func([]wire.Field) { n++ },
		}
		d.Feed(p)
		return n >= max(1, len(s.exchanges)) || d.Lost()
	}
}

// framesOf returns the complete HTTP/2 frames at the beginning of p.
func framesOf(p []byte) []h2.Cut {
	var out []h2.Cut
	split := h2.Splitter{Limit: 1<<24 - 1} // which no frame exceeds
	_ = split.Feed(p, func(f h2.Cut) bool { out = append(out, f); return true })
	return out
}

// endedStreams counts the ended streams; GOAWAY ends all.
func endedStreams(p []byte) int {
	n := 0
	for _, f := range framesOf(p) {
		switch {
		case f.Type == http2.FrameGoAway:
			return math.MaxInt
		case f.Type == http2.FrameRSTStream, f.Frame().EndsStream():
			n++
		}
	}
	return n
}
