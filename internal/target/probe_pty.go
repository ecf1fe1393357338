package target

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"assay/internal/bundle"
)

const (
	// sayTerminal says on standard output whether that is a terminal.
	sayTerminal = "if test -t 1; then echo terminal; else echo pipe; fi"
	// patiently does so when whoever reads the output has had time to, and stays a while.
	patiently = "sleep 1; " + sayTerminal + "; sleep 1"
	// patientTries is how many are made; one word is enough.
	patientTries = 3
)

// heard is what a command said of its output, from what says least to what says most.
type heard int

const (
	heardNothing  heard = iota
	heardPipe           // it is no terminal
	heardTerminal       // it is one, and comes as that of none
	heardPTY            // it comes as that of a terminal
)

// hearing is a command that was started to be heard.
type hearing struct {
	start  bundle.Exchange
	heard  heard
	stream string // on which it was heard
}

// probePTY starts a command on a PTY. A target that takes the request claims to
// have terminals, be they right or not; only one on which the field has no effect at all,
// neither a terminal for the process nor another kind of output, is one that does not
// know it. Output that comes early may be lost, so silence is no answer at first: when
// all tries are silent, and the same command without a PTY is not, the field has an effect.
func probePTY(ctx context.Context, c *client) (findings, error) {
	first, err := c.hear(ctx, command{text: sayTerminal, pty: true})
	if err != nil {
		return nil, err
	}
	if startedPID(first.start) == 0 {
		return findings{featPTY: c.withoutPTY(ctx, first.start)}, nil
	}
	if f, told := first.decide(); told {
		return findings{featPTY: f}, nil
	}
	var tries [patientTries]hearing
	var plain hearing
	var all sync.WaitGroup
	for i := range tries {
		all.Go(func() { tries[i], _ = c.hear(ctx, command{text: patiently, pty: true}) })
	}
	all.Go(func() { plain, _ = c.hear(ctx, command{text: patiently}) })
	all.Wait()
	best := slices.MaxFunc(tries[:], func(a, b hearing) int { return int(a.heard - b.heard) })
	if f, told := best.decide(); told {
		return findings{featPTY: f}, nil
	}
	if plain.heard != heardNothing {
		return findings{featPTY: present(fmt.Sprintf("the field pty has an effect: no output came with it in %d tries, and some without it", patientTries+1))}, nil
	}
	return findings{featPTY: unknown("no output came, neither with the field pty nor without it")}, nil
}

// decide says what was heard; told is false for nothing.
func (h hearing) decide() (f bundle.Feature, told bool) {
	switch h.heard {
	case heardPTY:
		return present("output comes as that of a terminal"), true
	case heardTerminal:
		return present("the process has a terminal, whose output comes as " + h.stream), true
	case heardPipe:
		return absent("the field pty is ignored: the process has no terminal, and its output comes as " + h.stream), true
	case heardNothing:
	}
	return bundle.Feature{}, false
}

// hear starts a command and waits until it has said something, or has ended, or until
// half of the time is over: what is left is for another try.
func (c *client) hear(ctx context.Context, p command) (hearing, error) {
	run, s, err := c.start(ctx, p)
	if err != nil {
		return hearing{}, err
	}
	defer run.reap(ctx)
	h := hearing{start: s}
	if run.pid == 0 {
		return h, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit/2)
	defer cancel()
	s = watch(ctx, run.x, func(s bundle.Exchange) bool {
		what, _ := run.said(s)
		return what != heardNothing || isOver(s)
	})
	h.heard, h.stream = run.said(s)
	return h, nil
}

// said looks for the words of sayTerminal, and for output of a terminal.
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

// withoutPTY decides by a Start that asked for a PTY and started nothing: the feature
// is absent when it is not implemented, and when the request is invalid with the field
// and not without it.
func (c *client) withoutPTY(ctx context.Context, s bundle.Exchange) bundle.Feature {
	f := decide(s, false)
	if f.State != bundle.FeatureUnknown || s.Error == nil || !slices.Contains([]string{"invalid_argument", "failed_precondition"}, s.Error.Code) {
		return f
	}
	run, _, err := c.start(ctx, command{text: "true"})
	if err != nil {
		return f
	}
	defer run.reap(ctx)
	if run.pid != 0 {
		return absent("refused with the field pty, and not without it: " + describe(s))
	}
	return f
}
