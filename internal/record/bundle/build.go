package bundle

// BuildSchema names the version of the JSON form of a build.
const BuildSchema = "assay.version/v1"

// Build identifies a build of the program and its catalogue. It is the model of `version --format json`.
type Build struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Commit is the revision of the source, "" if the build does not know it; Modified is set if the source had changes
	// that were not committed.
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"` // linux/amd64
	// Catalogue is the digest of the rules, scenarios and profiles, and Rules and Scenarios are their numbers.
	Catalogue string `json:"catalogue"`
	Rules     int    `json:"rules"`
	Scenarios int    `json:"scenarios"`
}
