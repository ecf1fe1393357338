package soak

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"assay/internal/load"
	"assay/internal/load/soak/inject"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// mistake is a setting of the plan that cannot be. Its text begins with the value.
type mistake struct {
	flag string // of the command line, without dashes
	text string
}

// Error returns the value and what is wanted instead.
func (m *mistake) Error() string { return m.text }

// field returns the name of the setting in soak.json.
func (m *mistake) field() string {
	switch m.flag {
	case "duration", "window", "warmup":
		return "plan." + m.flag + "_ms"
	case "http":
		return "target.http"
	}
	return "plan." + m.flag
}

// checkFolder checks the settings that a soak to resume has in its report: a folder may come from anywhere.
func (o *Options) checkFolder(r *bundle.SoakReport) error {
	if m := o.check(o.Duration - ended(r)); m != nil {
		return fmt.Errorf("%s %w", m.field(), m)
	}
	if o.now().Sub(r.Started) > mostDuration {
		return fmt.Errorf("started %v: want a soak of the last ten years", r.Started)
	}
	return nil
}

// check returns the first mistake in the settings that soak.json has, nil for none. left is the time that is still to be soaked.
func (o *Options) check(left time.Duration) *mistake {
	if m := o.checkTimes(left); m != nil {
		return m
	}
	versions := []string{load.HTTP11, load.H2C, load.H2TLS}
	unfit, fit := load.H2TLS, load.H2C
	if target.IsSecureURL(o.Load.Target.URL) {
		unfit, fit = fit, unfit
	}
	switch {
	case math.IsNaN(o.Rate) || o.Rate < leastRate || o.Rate > mostRate:
		return &mistake{"rate", fmt.Sprintf("%g: want %g to %d streams a second; assay load is for more", o.Rate, leastRate, mostRate)}
	case o.Held < 0 || o.Held > mostHeld:
		return &mistake{"held", fmt.Sprintf("%d: want 0 to %d streams", o.Held, mostHeld)}
	case math.IsNaN(o.Confidence) || o.Confidence < leastConfidence || o.Confidence > mostConfidence:
		return &mistake{"confidence", fmt.Sprintf("%g: want %g to %g", o.Confidence, leastConfidence, mostConfidence)}
	case o.Load.HTTP != "" && !slices.Contains(versions, o.Load.HTTP):
		return &mistake{"http", fmt.Sprintf("%q: want %s", o.Load.HTTP, strings.Join(versions, ", "))}
	case o.Load.HTTP == unfit && o.Load.Target.URL != "": // that of a sandbox is not known yet
		return &mistake{"http", fmt.Sprintf("%s does not fit the URL: its form of HTTP/2 is %s", unfit, fit)}
	}
	if _, err := inject.Parse(o.Inject); err != nil {
		return &mistake{"inject", fmt.Sprintf("%s: %v", strings.Join(o.Inject, ","), err)}
	}
	return nil
}

// checkTimes checks duration, window and warm-up.
func (o *Options) checkTimes(left time.Duration) *mistake {
	switch {
	case o.Window < LeastWindow || o.Window > mostDuration:
		return &mistake{"window", fmt.Sprintf("%v: want at least %v, and at most %v", o.Window, LeastWindow, mostDuration)}
	case o.Duration > mostDuration:
		return &mistake{"duration", fmt.Sprintf("%v: want at most %v", o.Duration, mostDuration)}
	case o.Duration < o.Window:
		return &mistake{"duration", fmt.Sprintf("%v is shorter than a window of %v: give a shorter --window, for example %v", o.Duration, o.Window, max(o.Duration/12, LeastWindow).Round(time.Second))}
	case left/o.Window > mostWindows:
		return &mistake{"duration", fmt.Sprintf("%v has more than %d windows of %v: give a longer --window", left, mostWindows, o.Window)}
	case o.Warmup < 0:
		return &mistake{"warmup", fmt.Sprintf("%v: want 0 or more", o.Warmup)}
	case o.Warmup >= o.Duration:
		return &mistake{"warmup", fmt.Sprintf("%v leaves nothing to judge in %v", o.Warmup, o.Duration)}
	}
	return nil
}
