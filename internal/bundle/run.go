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
}

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
}

// Calibration is the target's own pace, from which every deadline is taken.
type Calibration struct {
	RTT       int64   `json:"rtt_ns"`   // median round trip of a unary call
	Spawn     int64   `json:"spawn_ns"` // median of request to start event
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
