package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// Options configure an examination.
type Options struct {
	// Target is also examined if it has a URL.
	Target  target.Options
	Version string
}

// Examine runs every check. Failed checks are in the report, with exit code 3; errors come
// from wrong options or ctx.
func Examine(ctx context.Context, o Options) (*bundle.DoctorReport, error) {
	r := &bundle.DoctorReport{Schema: bundle.DoctorSchema, Tool: bundle.Tool{Name: "assay", Version: o.Version}}
	r.Checks = ofMachine()
	if o.Target.URL != "" {
		if err := examineTarget(ctx, o, r); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Checks {
		if c.Health == bundle.HealthFail {
			r.Exit = 3
		}
	}
	return r, nil
}

// examineTarget adds the checks of the target.
func examineTarget(ctx context.Context, o Options, r *bundle.DoctorReport) error {
	o.Target.UserAgent = "assay/" + o.Version
	t, err := target.New(o.Target)
	if err != nil {
		return err
	}
	defer func() { // calibration and probing complete the identity
		id := t.Identity()
		r.Target = &id
	}()
	clock := transport.NewClock()
	cal, err := t.Calibrate(ctx, clock)
	var unreachable *target.UnreachableError
	if errors.As(err, &unreachable) {
		r.Checks = append(r.Checks, bundle.DoctorCheck{
			Of: "target", Name: "reachable", Health: bundle.HealthFail, Value: unreachable.Reason, Mend: unreachable.Mend,
		})
		return nil
	}
	if err != nil {
		return err
	}
	r.Checks = append(r.Checks, bundle.DoctorCheck{Of: "target", Name: "reachable", Health: bundle.HealthOK, Value: "speaks the protocol"})
	r.Checks = append(r.Checks, pace(cal)...)
	if r.Features, err = t.Probe(ctx, clock, cal); err != nil {
		return err
	}
	r.Checks = append(r.Checks, shell(t, r.Features))
	if looks := t.Identity().Looks; looks != "" {
		r.Checks = append(r.Checks, bundle.DoctorCheck{
			Of: "target", Name: "looks like", Health: bundle.HealthOK, Value: looks, Mend: "test it against that gateway's profile with --profile " + looks,
		})
	}
	return nil
}

// Above these times a run is still correct, but takes long.
const (
	slowTrip  = 200 * time.Millisecond
	slowSpawn = time.Second
	slowEnd   = time.Second
)

// pace checks the round trip, the spawn latency and the time of the shortest command, from
// which every deadline is derived.
func pace(cal bundle.Calibration) []bundle.DoctorCheck {
	check := func(name string, ns int64, slow time.Duration, follows string) bundle.DoctorCheck {
		d := time.Duration(ns)
		c := bundle.DoctorCheck{Of: "target", Name: name, Health: bundle.HealthOK, Value: d.Round(10 * time.Microsecond).String()}
		if d > slow {
			c.Health, c.Mend = bundle.HealthWarn, fmt.Sprintf("over %v: %s", slow, follows)
		}
		return c
	}
	const takesLong = "a run takes long; races need a larger budget"
	end := check("end of true", cal.End, slowEnd,
		"the shell takes that long for every command (a slow login shell?); deadlines grow by four times as much, and so does the run")
	if cal.End == 0 {
		end.Health, end.Value = bundle.HealthWarn, "no end event"
		end.Mend = "deadlines do not allow for the shell; if it is only slow, use --time-scale 4"
	}
	return []bundle.DoctorCheck{
		check("round trip", cal.RTT, slowTrip, takesLong), check("spawn latency", cal.Spawn, slowSpawn, takesLong), end,
	}
}

// shell checks whether commands run in the shell that scenarios use.
func shell(t *target.Target, features map[string]bundle.Feature) bundle.DoctorCheck {
	f := features["process.start"]
	c := bundle.DoctorCheck{Of: "target", Name: "shell", Health: bundle.HealthOK, Value: strings.Join(t.Shell(), " ")}
	if f.State != bundle.FeaturePresent {
		c.Health = bundle.HealthFail
		c.Value += ": " + f.Detail
		c.Mend = `set the shell that the gateway accepts, for example --shell "/bin/bash -l -c"`
	} else if f.Detail != "" {
		c.Value += " (" + f.Detail + ")"
	}
	return c
}
