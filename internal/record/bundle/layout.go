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
	tempPrefix       = ".assay-" // a file being written

	loadFile = "load.json" // load run: the report
	// SoakFile is the report of a soak, and WindowsFile has a SoakWindow a line, appended.
	SoakFile    = "soak.json"
	WindowsFile = "windows.jsonl"

	hlogFile   = "latency.hlog" // load run: a histogram per metric and interval
	metricsDir = "metrics"      // load run: NAME.txt, every scrape
	metricsExt = ".txt"
)

// documents are the files other than the manifest and the folders.
var documents = []string{runFile, eventsFile, observationsFile, reproducersFile, verdictsFile, resultFile, loadFile, hlogFile, SoakFile, WindowsFile}

// folders are the folders of a bundle.
var folders = []string{scriptsDir, metricsDir}

// The limits for reading. A bundle is untrusted, so its files must not control how much
// memory is used.
const (
	maxLine         = 64 << 20  // one line
	maxObservations = 256 << 20 // all of them
	maxObjects      = 4 << 20   // JSON objects, and nulls in their place, in all observations: ten times the whole catalogue
	maxValues       = 2 << 20   // JSON values of a document that is held against its schema
	maxLineValues   = 8 << 20   // of a line: an observation of maxLine bytes has fewer
	maxParts        = 200_000   // iterations, connections, exchanges … of all observations: thirty times the whole catalogue
	maxDocument     = 32 << 20  // run.json, verdicts.json, result.json, manifest.json
	maxLog          = 32 << 20  // events.jsonl, reproducers.jsonl
	maxScript       = 4 << 20   // one script
	maxScripts      = 64 << 20  // all scripts together
	maxScriptID     = 200
	maxFiles        = 100_000 // in one folder: one scrape per second for a day
)

var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// isOurs reports whether a bundle may have a file with this name.
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

// checkScriptID rejects ids that could name a file elsewhere.
func checkScriptID(id string) error {
	switch {
	case len(id) > maxScriptID:
		return fmt.Errorf("scenario id %.40q… is %d bytes long: a file name has at most %d", id, len(id), maxScriptID)
	case !fileName.MatchString(id) || strings.Contains(id, ".."):
		return fmt.Errorf("scenario id %q cannot be a file name: want letters, digits, '.', '-' and '_', beginning with a letter or digit, without '..'", id)
	}
	return nil
}

// VersionError reports a file of another kind or of an unknown version.
type VersionError struct {
	Got, Want string // "assay.run/v2", "assay.run/v1"
}

// Error names the version and what to do.
func (e *VersionError) Error() string {
	name, version, _ := strings.Cut(e.Want, "/")
	gotName, gotVersion, _ := strings.Cut(e.Got, "/")
	if gotName != name {
		return fmt.Sprintf("schema is %q, want %q: this is not a file of an Assay bundle", clip(e.Got), e.Want)
	}
	return fmt.Sprintf("schema is %q, but this version of assay reads only %s: use the version of assay that wrote %s", clip(e.Got), version, clip(gotVersion))
}

// checkSchema rejects another kind or version of document.
func checkSchema(got, want string) error {
	if got == want {
		return nil
	}
	return &VersionError{got, want}
}

// isVersion reports whether err is about another version of the right kind of file.
func isVersion(err error) bool {
	var v *VersionError
	if !errors.As(err, &v) {
		return false
	}
	got, _, _ := strings.Cut(v.Got, "/")
	want, _, _ := strings.Cut(v.Want, "/")
	return got == want
}

// clip truncates an untrusted text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
