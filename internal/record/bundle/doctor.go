package bundle

// DoctorSchema names the version of the examination's JSON form.
const DoctorSchema = "assay.doctor/v1"

// Health is the result of one check of an examination.
type Health string

// The results, best first.
const (
	HealthOK   Health = "ok"
	HealthWarn Health = "warn" // testing works, with a limit
	HealthFail Health = "fail" // testing does not work
)

// DoctorReport says whether this machine can test, and the target can be tested.
type DoctorReport struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	// Target is nil if only the machine was examined.
	Target *Target       `json:"target,omitempty"`
	Checks []DoctorCheck `json:"checks"`
	// Features are the probed features, by id.
	Features map[string]Feature `json:"features,omitempty"`
	// Exit is 0, or 3 if a check failed.
	Exit int `json:"exit"`
}

// DoctorCheck is one check.
type DoctorCheck struct {
	// Of is machine or target.
	Of     string `json:"of"`
	Name   string `json:"name"`
	Health Health `json:"health"`
	Value  string `json:"value"`
	// Mend says what to do about it.
	Mend string `json:"mend,omitempty"`
}
