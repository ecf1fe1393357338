package bundle

import (
	"fmt"
	"regexp"
	"strings"
)

// The files of a bundle directory.
const (
	runFile          = "run.json"           // a Run; written first, rewritten last
	observationsFile = "observations.jsonl" // one Observation a line, appended
	verdictsFile     = "verdicts.json"      // []Verdict, at the end
	resultFile       = "result.json"        // a Report, at the end
	scriptsDir       = "scripts"            // ID.yaml, the scripts that ran
	scriptExt        = ".yaml"
	tempPrefix       = ".assay-" // a file that is being written
)

// The limits of what is read back. A bundle may come from anybody, so none of
// its files decides how much memory is taken.
const (
	maxLine         = 256 << 20 // one observation
	maxObjects      = 8 << 20   // JSON objects in one observation: 200 iterations of 2,048 chunks on ten connections
	maxObservations = 2 << 30   // all of them
	maxDocument     = 64 << 20  // run.json, verdicts.json, result.json
	maxScript       = 4 << 20   // one script
	maxScripts      = 64 << 20  // all scripts together
	maxScriptID     = 200
)

var scriptID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// checkScriptID refuses what could name a file elsewhere.
func checkScriptID(id string) error {
	switch {
	case len(id) > maxScriptID:
		return fmt.Errorf("scenario id %.40q… is %d bytes long, at most %d can be a file name", id, len(id), maxScriptID)
	case !scriptID.MatchString(id) || strings.Contains(id, ".."):
		return fmt.Errorf("scenario id %q cannot be a file name: it must be letters, digits, '.', '-' and '_', begin with a letter or digit, and hold no '..'", id)
	}
	return nil
}

// checkSchema refuses another kind of document, or another version of it.
func checkSchema(got, want string) error {
	if got == want {
		return nil
	}
	name, version, _ := strings.Cut(want, "/")
	gotName, gotVersion, _ := strings.Cut(got, "/")
	if gotName != name {
		return fmt.Errorf("schema is %q, want %q: this is not a file of an Assay bundle", got, want)
	}
	return fmt.Errorf("schema is %q, and this version of assay reads %s only: use the version of assay that wrote %s", got, version, gotVersion)
}
