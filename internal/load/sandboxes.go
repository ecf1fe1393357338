package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/wire"
	"assay/scenarios"
)

// Sandboxes are the sandboxes that the streams of a run are spread over.
type Sandboxes struct {
	// Targets are their options; the first is also Options.Target. All have the same address
	// and path.
	Targets []target.Options
	// Figures are what is known about their creation.
	Figures bundle.LoadSandboxes
	// Delete deletes them after the run, and returns how many it deleted and the ids of the
	// others.
	Delete func() (deleted int, left []string)
}

// figures returns the facts about the creation; nil without sandboxes.
func (b *Sandboxes) figures() *bundle.LoadSandboxes {
	if b == nil {
		return nil
	}
	return new(b.Figures)
}

// end deletes the sandboxes and completes a report.
func (b *Sandboxes) end(r *bundle.LoadReport) {
	if b == nil || b.Delete == nil {
		return
	}
	deleted, left := b.Delete()
	r.Sandboxes.Deleted, r.Sandboxes.Left = int64(deleted), left
}

// spread adds the sandboxes to the plan.
func (s *session) spread(profile *scenarios.Profile) (err error) {
	if s.opts.Sandboxes == nil {
		return nil
	}
	for _, o := range s.opts.Sandboxes.Targets {
		s.fullBoxes = append(s.fullBoxes, WithProfile(o, profile, s.opts.Version))
	}
	s.plan.Sandboxes, err = targetsOf(s.fullBoxes, s.target.Redactor())
	return err
}

// targetsOf returns the targets with these options. Their secrets are those of the run.
func targetsOf(all []target.Options, redactor *secret.Redactor) (out []*target.Target, err error) {
	for i := range all {
		t, err := target.New(all[i])
		if err != nil {
			return nil, err
		}
		redactor.Add(all[i].Secrets()...)
		out = append(out, t)
	}
	return out, nil
}

// failedSandboxes returns the failures of a control plane.
func failedSandboxes(s *bundle.LoadSandboxes) (out []string) {
	if s == nil {
		return nil
	}
	if s.Failed > 0 {
		var by []string
		for _, status := range slices.Sorted(maps.Keys(s.Failures)) {
			by = append(by, fmt.Sprintf("%s: %d", status, s.Failures[status]))
		}
		out = append(out, fmt.Sprintf("%d of %d sandboxes were not created (%s)", s.Failed, s.Wanted, strings.Join(by, ", ")))
	}
	if n := len(s.Left); n > 0 {
		const most = 5
		ids := strings.Join(s.Left[:min(n, most)], ", ")
		if n > most {
			ids += fmt.Sprintf(" and %d more", n-most)
		}
		out = append(out, fmt.Sprintf("%s not deleted: %s", plural(n, "sandbox was", "sandboxes were"), ids))
	}
	return out
}

// LatencyOf returns the distribution of all values.
func LatencyOf(values []time.Duration) bundle.Latency {
	if len(values) == 0 {
		return bundle.Latency{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	at := func(perMille int) int64 { return sorted[max((n*perMille+999)/1000, 1)-1].Microseconds() }
	return bundle.Latency{Count: int64(n), P50: at(500), P90: at(900), P99: at(990), P999: at(999), Max: at(1000)}
}

// trueCommand is the command of FirstCommand, and firstAnswer bounds its response.
const (
	trueCommand = "true"
	firstAnswer = 1 << 20
)

// FirstCommand runs a command on a target in the protocol of the first class of the run, and
// returns when its response has ended, with an error if there is none.
func (o *Options) FirstCommand(ctx context.Context, at target.Options) error {
	r, err := o.resolved()
	if err != nil {
		return err
	}
	profile, err := scenarios.LoadProfile(r.Profile)
	if err != nil {
		return err
	}
	t, err := target.New(WithProfile(at, profile, r.Version))
	if err != nil {
		return err
	}
	p, err := r.plan(Dialect{Target: t, Run: "first"})
	if err != nil {
		return err
	}
	d := p.Classes[0].Dialect
	d.Command = trueCommand
	if d.Protocol == ProtocolWS {
		d.Protocol = ProtocolConnect
	}
	start, err := d.Start()
	if err != nil {
		return err
	}
	return d.completes(ctx, p, &start)
}

// completes makes a request for a stream and reads its response to the end.
func (d *Dialect) completes(ctx context.Context, p *Plan, start *Request) error {
	client := p.client(p.Limits.FirstEvent)
	defer client.CloseIdleConnections()
	resp, err := client.Do(start.HTTP(ctx, p))
	if err != nil {
		return errors.New(Reason(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, firstAnswer))
	switch kind := resp.Header.Get("Content-Type"); {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP %d: %.200s", resp.StatusCode, strings.TrimSpace(string(body)))
	case err != nil:
		return fmt.Errorf("the response to its first command is cut off: %s", Reason(err))
	case !d.StreamType(kind):
		return fmt.Errorf("the content type of its first command is %.80q", kind)
	case d.Protocol == ProtocolNDJSON:
		return nil
	}
	return d.began(body)
}

// began returns an error unless a response has a message: an error alone is in the last
// envelope, or in the trailers.
func (d *Dialect) began(body []byte) error {
	messages, end := 0, ""
	dec := wire.EnvelopeDecoder{Protocol: d.Framing(), OnFrame: func(f wire.Frame) {
		if f.Flags&(wire.FlagEndStream|wire.FlagTrailer) == 0 {
			messages++
			return
		}
		end = string(f.Payload)
	}}
	dec.Feed(body)
	if messages == 0 {
		return fmt.Errorf("its first command has no event: %.200s", strings.TrimSpace(end))
	}
	return nil
}
