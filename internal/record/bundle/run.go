package bundle

import (
	"slices"
	"time"
)

// RunSchema names the version of the run's JSON form.
const RunSchema = "assay.run/v1"

// Run is the common data of all observations of a run.
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
	// Repeat is how often every scenario was run; 0 is once.
	Repeat int `json:"repeat,omitempty"`
	// Calibration and Features are measured and probed before the first scenario.
	Calibration Calibration        `json:"calibration"`
	Features    map[string]Feature `json:"features"`
	Interrupted bool               `json:"interrupted,omitempty"`
	// DriverLag is the maximum delay of the driver's own timers during scenarios, in nanoseconds.
	DriverLag int64 `json:"driver_lag_ns,omitempty"`
	// Machine is how busy this machine was; nil if that is unknown.
	Machine *Machine `json:"machine,omitempty"`
	// Deaths are the times at which the target died.
	Deaths []Death `json:"deaths,omitempty"`
	// Admission says which requests were refused; nil if none was.
	Admission *Admission `json:"admission,omitempty"`
	// Left lists the processes of the run that the target listed at its end, and Swept is set if it was asked.
	Left  []Leftover `json:"left,omitempty"`
	Swept bool       `json:"swept,omitempty"`
	// Flags are the given flags of the target, for the replay command. They name files with
	// secrets, but contain none.
	Flags []string `json:"flags,omitempty"`
	// Planned lists the scenarios to run; those without an observation did not run.
	Planned []Planned `json:"planned,omitempty"`
	// Shard is the part of the selection that the run has, as in "2/3"; "" is all of it.
	Shard string `json:"shard,omitempty"`
	// LeftOut lists the scenarios outside of the selection, in other shards, or not to be rerun,
	// to which an entry of the list of known failures applies.
	LeftOut []Planned `json:"left_out,omitempty"`
	// ProfileText is the text of the profile, and RulesText the rules of the user's own scripts,
	// for judging the run again.
	ProfileText string `json:"profile_text,omitempty"`
	RulesText   string `json:"rules_text,omitempty"`
	// KnownFile and KnownText are the path and the text of the list of known failures; ""
	// without one.
	KnownFile string `json:"known_file,omitempty"`
	KnownText string `json:"known_text,omitempty"`
}

// Machine is how busy the machine was on which Assay ran.
type Machine struct {
	// Ready is the most threads that ran on a processor or waited for it, for each processor, over some seconds.
	Ready float64 `json:"ready"`
	// Pressure is the share of the run in which some thread waited for a processor, and Steal the share of the processors
	// that a hypervisor gave to other machines: 0 to 1. 0 is also what is unknown.
	Pressure float64 `json:"cpu_pressure,omitempty"`
	Steal    float64 `json:"steal,omitempty"`
	// Shared is set if the target runs on this machine.
	Shared bool `json:"shared,omitempty"`
}

// Death is a time in a run at which the target refused connections.
type Death struct {
	// The target died between Since and At, while the scenarios Ran, or shortly after.
	Since Stamp    `json:"since"`
	At    Stamp    `json:"at"`
	Ran   []string `json:"ran"`
	// Scenario and Axes are what ran with nothing beside it; "" if more ran, and none of it killed the target again alone.
	Scenario string `json:"scenario,omitempty"`
	Axes     Axes   `json:"axes,omitzero"`
	// Back is after how long it responded again, in nanoseconds; 0 is never.
	Back int64 `json:"back_ns,omitempty"`
}

// KilledBy reports whether the target died while a scenario ran with nothing beside it.
func (r *Run) KilledBy(scenario string) bool {
	return r != nil && slices.ContainsFunc(r.Deaths, func(d Death) bool { return d.Scenario == scenario })
}

// Leftover is a process that a run has started and could not end.
type Leftover struct {
	PID     uint32 `json:"pid"`
	Mark    string `json:"mark"`    // run, scenario, axes and exchange
	Cleanup string `json:"cleanup"` // the response to the last kill
}

// Planned is one planned scenario on one set of axes.
type Planned struct {
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
}

// Complete reports whether the run ended without an interrupt.
func (r *Run) Complete() bool { return !r.Ended.IsZero() && !r.Interrupted }

// Tool is the program that wrote the bundle.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Target is the identity of the tested gateway.
type Target struct {
	URL string `json:"url"`
	// Embedded is set for the reference gateway in the same process.
	Embedded bool              `json:"embedded,omitempty"`
	Paths    map[string]string `json:"paths,omitempty"` // surface -> path
	Shell    []string          `json:"shell,omitempty"`
	// Looks is the profile of the recognised implementation, "" for none.
	Looks string `json:"looks,omitempty"`
}

// LooksEnvd is the daemon of the E2B sandboxes.
const LooksEnvd = "envd"

// Calibration is the target's pace, from which every deadline is derived.
type Calibration struct {
	RTT   int64 `json:"rtt_ns"`   // median round trip of a unary call
	Spawn int64 `json:"spawn_ns"` // median of request to start event
	// End is the median of request to end event of the shortest command: the cost of the shell itself.
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
	// Hidden is set for an absent feature that the target may have: the options of this run make it untestable.
	Hidden bool `json:"hidden,omitempty"`
}
