package scenarios

// Rule is one requirement.
type Rule struct {
	ID         string `yaml:"id"`
	Level      string `yaml:"level"` // must, should, may
	Source     string `yaml:"source"`
	Section    string `yaml:"section"`
	Text       string `yaml:"text"`       // one sentence
	Ref        string `yaml:"ref"`        // numbers in the table of protocol rules, "C128" or "G10, W18"
	Untestable string `yaml:"untestable"` // reason, from a closed list
	// Standing lists the violation kinds and checks by which every observation is judged ("envelope.reserved-flags", "check:http-trailers").
	Standing []string `yaml:"standing"`
}

// Profile is what a target claims to be.
type Profile struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Require lists features whose absence is a failure of profile.ID.FEATURE.
	Require []string `yaml:"require"`
	// Deviations are rule ids whose breach is allowed, with the reason.
	Deviations map[string]string `yaml:"deviations"`
	// Levels raise or lower rules.
	Levels map[string]LevelChange `yaml:"levels"`
	// Metrics are the names of the process counters: started, finished, active.
	Metrics map[string]string `yaml:"metrics"`
	// Shell is how `sh` commands are run: the words before the command. Default: what the target accepts,
	// [/bin/sh, -c] or [/bin/bash, -l, -c].
	Shell []string `yaml:"shell"`
	// Text is its source, so that a run can be judged again by the very same.
	Text []byte `yaml:"-"`
	// Paths are the paths per surface: process "", commands "/commands", metrics "/metrics", health "/health".
	Paths map[string]string `yaml:"paths"`
}

// LevelChange gives a rule another level, and says why.
type LevelChange struct {
	Level  string `yaml:"level"`
	Reason string `yaml:"reason"`
}

// Catalogue is the scripts, rules and profiles.
type Catalogue struct {
	Scenarios []*Scenario // sorted by ID
	Rules     []*Rule     // sorted by ID
}
