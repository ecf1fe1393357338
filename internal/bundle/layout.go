package bundle

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ManifestFile is the file that makes a bundle complete: a Manifest, written last.
const ManifestFile = "manifest.json"

// The files of a bundle directory.
const (
	runFile          = "run.json"           // a Run; written first, rewritten last
	eventsFile       = "events.jsonl"       // one RunEvent a line, appended
	observationsFile = "observations.jsonl" // one Observation a line, appended
	reproducersFile  = "reproducers.jsonl"  // one Reproducer a line, appended
	verdictsFile     = "verdicts.json"      // []Verdict, at the end
	resultFile       = "result.json"        // a Report, at the end
	scriptsDir       = "scripts"            // ID.yaml, the scripts that ran
	scriptExt        = ".yaml"
	tempPrefix       = ".assay-" // a file that is being written

	loadFile   = "load.json"    // of a load run: its report
	hlogFile   = "latency.hlog" // of a load run: a histogram per metric and interval
	metricsDir = "metrics"      // of a load run: NAME.txt, every scrape
	metricsExt = ".txt"
)

// documents are the files beside the manifest and the folders.
var documents = []string{runFile, eventsFile, observationsFile, reproducersFile, verdictsFile, resultFile, loadFile, hlogFile}

// folders are the folders of a bundle.
var folders = []string{scriptsDir, metricsDir}

// The limits of what is read back. A bundle may come from anybody, so none of
// its files decides how much memory is taken.
const (
	maxLine         = 64 << 20  // one line
	maxObservations = 256 << 20 // all of them
	maxObjects      = 4 << 20   // JSON objects, and nulls that could stand for them, in all observations: ten times those of the whole catalogue
	maxParts        = 200_000   // iterations, connections, exchanges … of all observations: thirty times those of the whole catalogue
	maxDocument     = 32 << 20  // run.json, verdicts.json, result.json, manifest.json
	maxLog          = 32 << 20  // events.jsonl, reproducers.jsonl
	maxScript       = 4 << 20   // one script
	maxScripts      = 64 << 20  // all scripts together
	maxScriptID     = 200
	maxFiles        = 100_000 // in one folder: a scrape a second for a day
)

var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// isOurs reports whether a bundle may have a file of that name.
func isOurs(name string) bool {
	folder, base, inside := strings.Cut(name, "/")
	switch {
	case !inside:
		return name == ManifestFile || slices.Contains(documents, name)
	case !fileName.MatchString(base) || strings.Contains(base, "..") || len(base) > maxScriptID+len(scriptExt):
		return false
	case folder == scriptsDir:
		return strings.HasSuffix(base, scriptExt)
	}
	return folder == metricsDir && strings.HasSuffix(base, metricsExt)
}

// checkScriptID refuses what could name a file elsewhere.
func checkScriptID(id string) error {
	switch {
	case len(id) > maxScriptID:
		return fmt.Errorf("scenario id %.40q… is %d bytes long, at most %d can be a file name", id, len(id), maxScriptID)
	case !fileName.MatchString(id) || strings.Contains(id, ".."):
		return fmt.Errorf("scenario id %q cannot be a file name: it must be letters, digits, '.', '-' and '_', begin with a letter or digit, and hold no '..'", id)
	}
	return nil
}

// VersionError is a file of another kind, or of a version that this program does
// not know.
type VersionError struct {
	Got, Want string // "assay.run/v2", "assay.run/v1"
}

// Error names the version, and what to do.
func (e *VersionError) Error() string {
	name, version, _ := strings.Cut(e.Want, "/")
	gotName, gotVersion, _ := strings.Cut(e.Got, "/")
	if gotName != name {
		return fmt.Sprintf("schema is %q, want %q: this is not a file of an Assay bundle", clip(e.Got), e.Want)
	}
	return fmt.Sprintf("schema is %q, and this version of assay reads %s only: use the version of assay that wrote %s", clip(e.Got), version, clip(gotVersion))
}

// checkSchema refuses another kind of document, or another version of it.
func checkSchema(got, want string) error {
	if got == want {
		return nil
	}
	return &VersionError{got, want}
}

// isVersion reports whether err is of the right kind of file in another version.
func isVersion(err error) bool {
	var v *VersionError
	if !errors.As(err, &v) {
		return false
	}
	got, _, _ := strings.Cut(v.Got, "/")
	want, _, _ := strings.Cut(v.Want, "/")
	return got == want
}

// clip keeps a text of unknown origin short in a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
