package target

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

const (
	// sayTerminal prints whether standard output is a terminal.
	sayTerminal = "if test -t 1; then echo terminal; else echo pipe; fi"
	// patiently waits before and after printing it, so that a late reader receives it.
	patiently = "sleep 1; " + sayTerminal + "; sleep 1"
	// patientTries is the number of such tries; one output is enough.
	patientTries = 3
)

// heard is the result of a command about its output, in order of significance.
type heard int

const (
	heardNothing  heard = iota
	heardPipe           // not a terminal
	heardTerminal       // a terminal, but not sent as pty output
	heardPTY            // sent as pty output
)

// hearing is a started command with its result.
type hearing struct {
	x      *transport.Exchange
	start  bundle.Exchange // x by then
	heard  heard
	stream string // stream of the output
}

// probePTY starts a command on a PTY. A target that accepts the request claims to have
// terminals, correct or not. The feature is absent only if the field has no effect: neither
// a terminal for the process nor another kind of output. Early output may be lost, so the
// probe retries silent commands: if all tries with a PTY are silent and the same command
// without one is not, the field has an effect.
func probePTY(ctx context.Context, c *client) findings {
	first := c.hear(ctx, command{text: sayTerminal, pty: true})
	if startedPID(first.start) == 0 {
		return findings{featPTY: c.withoutPTY(ctx, first)}
	}
	if f, told := first.decide(); told {
		return findings{featPTY: f}
	}
	var tries [patientTries]hearing
	var plain hearing
	var all crash.Group
	for i := range tries {
		all.Go(func() {
			tries[i] = c.hear(ctx, command{text: patiently, pty: true})
		})
	}
	all.Go(func() {
		plain = c.hear(ctx, command{text: patiently})
	})
	all.Wait()
	best := slices.MaxFunc(tries[:], func(a, b hearing) int { return int(a.heard - b.heard) })
	if f, told := best.decide(); told {
		return findings{featPTY: f}
	}
	if plain.heard != heardNothing {
		return findings{featPTY: present(fmt.Sprintf("the field pty has an effect: no output with it in %d tries, but output without it", patientTries+1))}
	}
	return findings{featPTY: unknown("no output, neither with the field pty nor without it")}
}

// decide returns the finding; told is false without output.
func (h hearing) decide() (f bundle.Feature, told bool) {
	switch h.heard {
	case heardPTY:
		return present("output is sent as pty"), true
	case heardTerminal:
		return present("the process has a terminal, whose output is sent as " + h.stream), true
	case heardPipe:
		return absent("the field pty is ignored: the process has no terminal, and its output is sent as " + h.stream), true
	case heardNothing:
	}
	return bundle.Feature{}, false
}

// hear starts a command and waits until it prints or ends, or until half of the time is
// over, which leaves time for another try.
func (c *client) hear(ctx context.Context, p command) hearing {
	run, s := c.start(ctx, p)
	defer run.reap(ctx)
	h := hearing{x: run.x, start: s}
	if run.pid == 0 {
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit/2)
	defer cancel()
	s = watch(ctx, run.x, func(s bundle.Exchange) bool {
		what, _ := run.said(s)
		return what != heardNothing || isOver(s)
	})
	h.heard, h.stream = run.said(s)
	return h
}

// said looks for the output of sayTerminal, and for pty output.
func (r *running) said(s bundle.Exchange) (found heard, stream string) {
	for _, e := range s.Events {
		if e.Kind != bundle.EventData {
			continue
		}
		if e.Stream == "pty" {
			return heardPTY, e.Stream
		}
		switch out := r.x.Output(e.Stream); {
		case bytes.Contains(out, []byte("terminal")):
			found, stream = heardTerminal, e.Stream
		case bytes.Contains(out, []byte("pipe")) && found == heardNothing:
			found, stream = heardPipe, e.Stream
		}
	}
	return found, stream
}

// withoutPTY decides when a Start with a PTY started nothing: the feature is absent if it is
// unimplemented, or if the request is invalid only with the field.
func (c *client) withoutPTY(ctx context.Context, h hearing) bundle.Feature {
	s := h.start
	f := decide(h.x, s, false)
	if f.State != bundle.FeatureUnknown || s.Error == nil || !slices.Contains([]string{"invalid_argument", "failed_precondition"}, s.Error.Code) {
		return f
	}
	run, _ := c.start(ctx, command{text: "true"})
	defer run.reap(ctx)
	if run.pid != 0 {
		return absent("refused with the field pty, accepted without it: " + describe(s))
	}
	return f
}
