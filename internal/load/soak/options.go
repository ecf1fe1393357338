package soak

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The defaults of a soak.
const (
	DefaultDuration = 8 * time.Hour
	DefaultWindow   = 10 * time.Minute
	DefaultRate     = 20
	DefaultHeld     = 20
	// DefaultConfidence is the probability that a soak of a gateway without leak or drift finds none.
	DefaultConfidence = 0.99

	// LeastWindow is the shortest window.
	LeastWindow = scenarios.LeastWindow
	warmWindows = 2
	mostWindows = 10_000
	leastRate   = 0.001
	mostRate    = 1000
	mostHeld    = 10_000
	// mostDuration is ten years: sums of a few spans of that length do not overflow.
	mostDuration = 10 * 365 * 24 * time.Hour

	leastConfidence, mostConfidence = 0.5, 0.9999
)

// Options are the settings of a soak. Each field documents its default.
type Options struct {
	// Load has the target, the profile, the version of HTTP, the version of this program, the engine and the
	// workers. The soak sets its other fields.
	Load load.Options
	// Local has worker processes of this machine, which an injected pause stops.
	Local load.Fleet
	// Duration is the time of the whole soak, default 8 h, and Window that of a window, default 10 min.
	Duration, Window time.Duration
	// Warmup is not judged for trends; default two windows.
	Warmup time.Duration
	// Rate is the number of streams that begin in a second, default 20, and Held how many streams are
	// held open, on average; default 20.
	Rate float64
	Held int
	// Seed makes random choices repeatable; 0 takes one from the clock.
	Seed uint64
	// PID is the process of the gateway on this machine, whose resources are read from /proc; 0 is unknown.
	PID int
	// Inject are the kinds of faults to inject, one in each window in turns; "all" is every kind.
	Inject []string
	// Confidence is shared by all tests of trends; default 0.99.
	Confidence float64
	// Out is the directory of the soak. Resume says that it holds a soak that ended early, which goes on.
	Out    string
	Resume bool
	// Progress gets the progress; nil shows nothing.
	Progress Progress

	now func() time.Time // of the wall clock; nil is time.Now
}

// Progress gets the progress of a soak. One goroutine calls its methods.
type Progress interface {
	// Begin is called before the first window, with lines that describe the soak.
	Begin(headline []string, duration time.Duration)
	// Tick is called once a second: in all so many windows, in the one with this number, at this time.
	Tick(t Tick)
	// Window is called at the end of each window.
	Window(w *bundle.SoakWindow)
	// Event is called when something changes.
	Event(e bundle.SoakEvent)
	// End is called after the last window.
	End()
}

// Tick is one second of a soak.
type Tick struct {
	Elapsed, Duration time.Duration
	Window, Windows   int
	// Load is the second of the window's load run.
	Load load.Tick
}

type silent struct{}

func (silent) Begin([]string, time.Duration) {}
func (silent) Tick(Tick)                     {}
func (silent) Window(*bundle.SoakWindow)     {}
func (silent) Event(bundle.SoakEvent)        {}
func (silent) End()                          {}

// resolved returns the options with their defaults. Its errors are mistakes of the user.
func (o Options) resolved() (Options, error) {
	o.Duration = cmp.Or(o.Duration, DefaultDuration)
	o.Window = cmp.Or(o.Window, min(DefaultWindow, max(o.Duration/12, LeastWindow)))
	o.Warmup = cmp.Or(o.Warmup, min(warmWindows*o.Window, o.Duration/4))
	o.Rate = cmp.Or(o.Rate, DefaultRate)
	o.Confidence = cmp.Or(o.Confidence, DefaultConfidence)
	if m := o.check(o.Duration); m != nil {
		return o, fmt.Errorf("--%s %w", m.flag, m)
	}
	if o.PID < 0 {
		return o, fmt.Errorf("--pid %d: want the process of the gateway on this machine", o.PID)
	}
	if o.Resume && o.Out == "" {
		return o, errors.New("a soak is resumed in its folder: name it")
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())&(1<<31-1) | 1 //nolint:gosec // any short number will do
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.now == nil {
		o.now = time.Now
	}
	return o, nil
}

// Validate checks the options without using the network.
func (o Options) Validate() error {
	_, err := o.resolved()
	return err
}

// windows returns the number of windows.
func (o *Options) windows() int { return int(o.Duration / o.Window) }

// rest returns the time at the end of a window in which no stream begins.
func (o *Options) rest() time.Duration { return min(max(o.Window/20, time.Second), 30*time.Second) }
