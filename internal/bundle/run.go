package bundle

import "time"

// RunSchema names the version of the run's JSON form.
const RunSchema = "assay.run/v1"

// Run is what is common to all observations of a run.
type Run struct {
	Schema  string    `json:"schema"`
	ID      string    `json:"id"`
	Tool    Tool      `json:"tool"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Target  Target    `json:"target"`
	Profile string    `json:"profile"`
	Seed    uint64    `json:"seed"`
	Jobs    int       `json:"jobs"`
	Select  string    `json:"select,omitempty"`
	Strict  bool      `json:"strict,omitempty"`
	// Calibration and Features are what was measured and probed before the first scenario.
	Calibration Calibration        `json:"calibration"`
	Features    map[string]Feature `json:"features"`
	Interrupted bool               `json:"interrupted,omitempty"`
	// DriverLag is how late the driver's own timers were at most while scenarios ran, in nanoseconds.
	DriverLag int64 `json:"driver_lag_ns,omitempty"`
	// Flags are the flags of the target as they were given, for the command that
	// runs a scenario again. They name files of secrets, and hold none.
	Flags []string `json:"flags,omitempty"`
	// Planned is what was to run: what has no observation did not.
	Planned []Planned `json:"planned,omitempty"`
	// LeftOut is what was selected and was not to run again, of a run of a part of
	// another with a list of known failures: the list speaks of it as well.
	LeftOut []Planned `json:"left_out,omitempty"`
	// ProfileText is the profile as it was, and RulesText the rules that came with
	// scripts of one's own, so that the run can be judged again by them.
	ProfileText string `json:"profile_text,omitempty"`
	RulesText   string `json:"rules_text,omitempty"`
	// KnownFile and KnownText are the list of known failures that the run was
	// judged with, as it was given and as it was; "" without one.
	KnownFile string `json:"known_file,omitempty"`
	KnownText string `json:"known_text,omitempty"`
}

// Planned is one scenario on one set of axes that was to run.
type Planned struct {
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
}

// Complete reports whether the run came to its end: it has one, and it was not interrupted.
func (r *Run) Complete() bool { return !r.Ended.IsZero() && !r.Interrupted }

// Tool is who made the bundle.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Target is the identity of what was tested.
type Target struct {
	URL string `json:"url"`
	// Embedded is set when it was the reference gateway of this very process.
	Embedded bool              `json:"embedded,omitempty"`
	Paths    map[string]string `json:"paths,omitempty"` // surface -> path
	Shell    []string          `json:"shell,omitempty"`
	// Looks is the profile of the implementation that it looks like, "" when it looks like none that is known.
	Looks string `json:"looks,omitempty"`
}

// LooksEnvd is the daemon of the E2B sandboxes.
const LooksEnvd = "envd"

// Calibration is the target's own pace, from which every deadline is taken.
type Calibration struct {
	RTT   int64 `json:"rtt_ns"`   // median round trip of a unary call
	Spawn int64 `json:"spawn_ns"` // median of request to start event
	// End is the median of request to end event of the shortest command: what the shell itself takes.
	End       int64   `json:"end_ns,omitempty"`
	Samples   int     `json:"samples"`
	TimeScale float64 `json:"time_scale"`
}

// FeatureState is the result of probing for a feature.
type FeatureState string

// The states.
const (
	FeaturePresent FeatureState = "present"
	FeatureAbsent  FeatureState = "absent"
	FeatureUnknown FeatureState = "unknown" // the probe itself failed
)

// Feature is one probed feature.
type Feature struct {
	State  FeatureState `json:"state"`
	Detail string       `json:"detail,omitempty"` // what the probe saw
}
