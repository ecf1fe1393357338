package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bundle is a stored bundle.
type Bundle struct {
	Dir string
	// Manifest is nil for an unfinished bundle.
	Manifest     *Manifest
	Run          *Run
	Events       []RunEvent
	Observations []*Observation
	Reproducers  []Reproducer
	Scripts      map[string][]byte // by scenario id
	Report       *Report           // nil if the run was cut short
	Verdicts     []Verdict
	// Unfinished is set without a manifest: the run was killed, its disk was full, or it is
	// still in progress. The bundle can be judged, but the run never passes.
	Unfinished bool
	// Partial describes parts that are missing, truncated or changed after sealing.
	Partial []string
}

// Open reads a bundle of `assay conform`. It tolerates a truncated last line, missing files
// of a run that was cut short, and files changed after sealing, and describes them in
// Partial. Any other invalid content is an error with file and line. Files over a limit
// fail before they are read into memory, and links are not followed. Unknown fields are
// ignored.
func Open(dir string) (*Bundle, error) {
	r, err := openReader(dir)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	defer r.close()
	for _, read := range []func() error{r.manifest, r.run, r.events, r.observations, r.reproducers, r.scripts, r.verdicts, r.result, r.compare, r.sealed} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return r.b, nil
}

// reader reads a bundle, or parts of one.
type reader struct {
	root *os.Root
	b    *Bundle
}

// openReader opens a directory. Opening anything else could wait for a writer.
func openReader(dir string) (*reader, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: name that of --out", dir)
	}
	root, err := os.OpenRoot(dir)
	return &reader{root: root, b: &Bundle{Dir: dir, Scripts: map[string][]byte{}}}, err
}

func (r *reader) close() { _ = r.root.Close() }

// manifest reads the manifest first, which has the version of all other files.
func (r *reader) manifest() error {
	m := &Manifest{}
	err := r.document(ManifestFile, m, ManifestSchema)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.b.Unfinished = true
		return nil
	case err != nil:
		return err
	case m.Kind != KindConform:
		return fmt.Errorf("%s is a bundle of kind %q; this command needs kind %q", r.b.Dir, clip(string(m.Kind)), KindConform)
	}
	r.b.Manifest = m
	if note := Note(m.Omitted, m.Limit); note != "" {
		r.partial(note)
	}
	return nil
}

func (r *reader) run() error {
	run := &Run{}
	err := r.document(runFile, run, RunSchema)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a bundle: it has no %s; name the directory of --out", r.b.Dir, runFile)
	}
	if err != nil {
		return err
	}
	r.b.Run = run
	switch {
	case r.b.Unfinished:
		r.partial("the run is unfinished: it has no " + ManifestFile + ", so it was killed, could not be written, or is still in progress")
	case run.Interrupted:
		r.partial("the run was interrupted")
	}
	return nil
}

func (r *reader) events() error { return readLog(r, eventsFile, "an event", EventSchema, &r.b.Events) }

func (r *reader) reproducers() error {
	return readLog(r, reproducersFile, "a reproducer", ReproducerSchema, &r.b.Reproducers)
}

// readLog reads a file of small lines; a missing file is empty.
func readLog[T any](r *reader, name, what, schema string, into *[]T) error {
	l, err := r.lines(name, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.file.Close() }()
	err = l.each(func(line []byte) error {
		var one T
		if err := decodeLine(line, &one, schema); err != nil {
			return fmt.Errorf("not %s: %w", what, err)
		}
		*into = append(*into, one)
		return nil
	})
	if err == nil && l.cut != "" {
		r.partial(name + ": " + l.cut)
	}
	return err
}

// openLines is an open file of lines.
type openLines struct {
	lineReader
	file *os.File
}

// lines opens a file of lines with at most limit bytes.
func (r *reader) lines(name string, limit int64) (*openLines, error) {
	f, err := openRegular(r.root, name)
	if err != nil {
		return nil, r.failed(name, err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = tooLong(info.Size(), limit)
	}
	if err != nil {
		_ = f.Close()
		return nil, r.failed(name, err)
	}
	return &openLines{lineReader{name: r.path(name), in: f, limit: maxLine}, f}, nil
}

func (r *reader) observations() error {
	l, err := r.lines(observationsFile, maxObservations)
	if errors.Is(err, fs.ErrNotExist) {
		r.partial(observationsFile + " is missing")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.file.Close() }()
	if r.b.Observations, err = l.all(); err != nil {
		return err
	}
	if l.cut != "" {
		r.partial(observationsFile + ": " + l.cut)
	}
	return nil
}

func (r *reader) scripts() error {
	entries, err := entriesOf(r.root, scriptsDir)
	if errors.Is(err, fs.ErrNotExist) {
		r.partial("the scripts are missing")
		return nil
	}
	if err != nil {
		return r.failed(scriptsDir, err)
	}
	left := int64(maxScripts)
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), scriptExt)
		if !ok || e.IsDir() {
			continue
		}
		name := scriptsDir + "/" + e.Name()
		if err := checkScriptID(id); err != nil {
			return r.failed(name, err)
		}
		text, err := r.file(name, min(left, maxScript))
		if err != nil {
			return err
		}
		left -= int64(len(text))
		r.b.Scripts[id] = text
	}
	return nil
}

func (r *reader) verdicts() error {
	err := r.document(verdictsFile, &r.b.Verdicts, "")
	if errors.Is(err, fs.ErrNotExist) {
		r.partial(verdictsFile + " is missing: the run was cut short")
		return nil
	}
	return err
}

func (r *reader) result() error {
	report := &Report{}
	err := r.document(resultFile, report, ReportSchema)
	if errors.Is(err, fs.ErrNotExist) {
		r.partial(resultFile + " is missing: the run was cut short")
		return nil
	}
	if err != nil {
		return err
	}
	r.b.Report = report
	return nil
}

// compare checks the files against each other: the stored scripts must be those that ran,
// and each result should have an observation.
func (r *reader) compare() error {
	type key struct {
		id   string
		axes Axes
	}
	seen := map[key]bool{}
	missing := map[string]bool{}
	for i, o := range r.b.Observations {
		at := fmt.Sprintf("%s:%d", r.path(observationsFile), i+1)
		seen[key{o.Scenario, o.Axes}] = true
		if o.Run != "" && r.b.Run.ID != "" && o.Run != r.b.Run.ID {
			return fmt.Errorf("%s: the observation belongs to run %q, the bundle to run %q", at, o.Run, r.b.Run.ID)
		}
		text, ok := r.b.Scripts[o.Scenario]
		if !ok {
			missing[o.Scenario] = true
			continue
		}
		if sum := sha256.Sum256(text); o.Script != "" && o.Script != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("%s: the observation has a script with digest %s, but %s/%s%s differs: the bundle was changed", at, o.Script, scriptsDir, o.Scenario, scriptExt)
		}
	}
	if len(missing) > 0 {
		r.partial(fmt.Sprintf("the scripts of %d observed scenarios are missing", len(missing)))
	}
	if r.b.Report == nil {
		return nil
	}
	r.b.Report.Attach(r.b.Reproducers)
	n := 0
	for _, s := range r.b.Report.Scenarios {
		if !seen[key{s.ID, s.Axes}] {
			n++
		}
	}
	if n > 0 {
		r.partial(fmt.Sprintf("%d results have no observation, which could not be written", n))
	}
	return nil
}

// sealed compares the files with the digests of the manifest.
func (r *reader) sealed() error {
	if r.b.Manifest == nil {
		return nil
	}
	problems, err := integrity(context.Background(), r.root, r.b.Manifest)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if p.Kind != ProblemStranger {
			r.partial(p.Message)
		}
	}
	return nil
}

// document reads a JSON file into v. It checks the schema, if any, first: a newer version
// may have fields of other types.
func (r *reader) document(name string, v any, schema string) error {
	text, err := r.file(name, maxDocument)
	if err != nil {
		return err
	}
	switch err := DecodeDocument(text, v, schema); {
	case err == nil:
		return nil
	case lineOf(text, err) > 0:
		return fmt.Errorf("%s:%d: %w", r.path(name), lineOf(text, err), err)
	default:
		return r.failed(name, err)
	}
}

func (r *reader) file(name string, limit int64) ([]byte, error) {
	f, err := openRegular(r.root, name)
	if err != nil {
		return nil, r.failed(name, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, r.failed(name, err)
	}
	if int64(len(text)) > limit {
		return nil, r.failed(name, tooLong(int64(len(text)), limit))
	}
	return text, nil
}

func (r *reader) partial(what string) { r.b.Partial = append(r.b.Partial, what) }

func (r *reader) path(name string) string {
	return filepath.Join(r.b.Dir, filepath.FromSlash(name))
}

func (r *reader) failed(name string, err error) error {
	return fmt.Errorf("%s: %w", r.path(name), err)
}

func tooLong(n, limit int64) error {
	return fmt.Errorf("%d bytes or more; the limit is %d", n, limit)
}

// lineOf returns the line of a JSON error, 0 for any other error.
func lineOf(text []byte, err error) int {
	var off int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		off = syntax.Offset
	case errors.As(err, &kind):
		off = kind.Offset
	default:
		return 0
	}
	off = min(max(off, 0), int64(len(text)))
	return 1 + strings.Count(string(text[:off]), "\n")
}
