package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Writer writes a bundle directory: run.json at once, each event, observation and
// reproducer as one line in one write (so that a killed run loses at most its last line),
// scripts/ID.yaml, at the end verdicts.json and result.json, and last the manifest.
//
// A nil Writer, or one with directory "", writes nothing and never fails. All methods are
// safe for concurrent use. After a failed write to a file (a full disk) the Writer returns
// the error once, drops later lines of that file, and never seals the bundle.
type Writer struct {
	dir string

	mu      sync.Mutex
	root    *os.Root // nil: discarding, or closed
	lines   map[string]*lineFile
	scripts map[string]string
	limit   int64
	used    int64 // bytes of scripts and lines
	objects int   // in the observations
	parts   int   // and their iterations, connections, exchanges …
	omitted []OmittedObservation
	err     error
	closed  bool
}

// Create creates the directory and writes run.json. The directory must be absent, empty, or
// an older bundle, whose files are then replaced; any other directory is an error and stays
// unchanged. Nothing is ever written outside the directory, even if a file in it is a
// symbolic link. With dir "" the Writer discards everything.
func Create(dir string, run *Run) (*Writer, error) {
	if dir == "" {
		return &Writer{}, nil
	}
	if run == nil {
		return nil, fmt.Errorf("bundle %s: no run to write", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("bundle directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("bundle directory: %w", err)
	}
	w := &Writer{dir: dir, root: root, scripts: map[string]string{}, lines: map[string]*lineFile{}, limit: DefaultLimit}
	if err := w.prepare(run); err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) prepare(run *Run) error {
	if err := clearOlder(w.root, w.dir); err != nil {
		return err
	}
	if err := w.document(runFile, withSchema(run)); err != nil {
		return err
	}
	if err := w.root.Mkdir(scriptsDir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return w.failed(scriptsDir, err)
	}
	for _, name := range []string{eventsFile, observationsFile, reproducersFile} {
		l, err := newLines(w.root, name)
		if err != nil {
			return w.failed(name, err)
		}
		w.lines[name] = l
	}
	return nil
}

func withSchema(run *Run) *Run {
	r := *run
	if r.Schema == "" {
		r.Schema = RunSchema
	}
	return &r
}

// Limit sets the maximum size of the bundle instead of DefaultLimit. Call it before the
// first observation. Scripts, verdicts and the result are never dropped, so a bundle may
// exceed a very small limit.
func (w *Writer) Limit(bytes int64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = bytes
}

// Omitted returns the observations omitted so far, and a note about them.
func (w *Writer) Omitted() (omitted []OmittedObservation, note string) {
	if w == nil {
		return nil, ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(omitted, w.omitted...), Note(w.omitted, w.limit)
}

// Script stores a script's text once. Storing the same text again is allowed; another text
// under the same id is an error, and so is an id that cannot be a file name.
func (w *Writer) Script(id string, text []byte) error {
	if w == nil || w.dir == "" {
		return nil
	}
	if err := checkScriptID(id); err != nil {
		return err
	}
	if len(text) > maxScript {
		return fmt.Errorf("script %s is %d bytes long; the limit of a bundle is %d", id, len(text), maxScript)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.failed(scriptsDir, os.ErrClosed)
	}
	if old, ok := w.scripts[id]; ok {
		if old == string(text) {
			return nil
		}
		return fmt.Errorf("script %s is already stored with another text", id)
	}
	name := scriptsDir + "/" + id + scriptExt
	// A run has many scripts, and a sync of each would take a second.
	if err := ReplaceFile(w.root, name, text, false); err != nil {
		return w.failed(name, err)
	}
	w.scripts[id] = string(text)
	w.used += int64(len(text))
	return nil
}

// Observation appends one observation as one line. If it exceeds the limit of the bundle,
// or is too large to be read back, it is reduced to its identity and marked as omitted.
// worst is its worst verdict: passing observations are omitted first.
func (w *Writer) Observation(o *Observation, worst Conclusion) error {
	if w == nil || w.dir == "" {
		return nil
	}
	line, err := encode(o, "")
	if err != nil {
		return fmt.Errorf("observation of %s: %w", o.Scenario, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if why := w.unfit(int64(len(line)), weight(line), o.parts(), share(worst)); why != "" {
		n := int64(len(line))
		if line, err = encode(o.without(n, why), ""); err != nil {
			return fmt.Errorf("observation of %s: %w", o.Scenario, err)
		}
		w.omitted = append(w.omitted, OmittedObservation{Scenario: o.Scenario, Axes: o.Axes, Bytes: n})
	} else {
		w.parts += o.parts()
	}
	w.objects += weight(line)
	return w.add(observationsFile, line)
}

// unfit says why an observation with n bytes and these numbers of JSON objects and parts
// does not fit into some quarters of the limit; "" if it fits.
func (w *Writer) unfit(n int64, objects, parts int, quarters int64) string {
	switch {
	case n > maxLine:
		return fmt.Sprintf("an observation of %s is too long to be read back (%s)", Megabytes(n), Megabytes(maxLine))
	case w.objects+objects > maxObjects:
		return fmt.Sprintf("a bundle has at most %d JSON objects", maxObjects)
	case w.parts+parts > maxParts:
		return fmt.Sprintf("a bundle has at most %d iterations, connections and exchanges", maxParts)
	case w.used+n > w.limit/4*quarters:
		return fmt.Sprintf("the limit of the bundle is %s", Megabytes(w.limit))
	}
	return ""
}

// line appends v to a file of lines.
func (w *Writer) line(name string, v any) error {
	line, err := encode(v, "")
	if err != nil {
		return w.failed(name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.add(name, line)
}

// add appends a line; the caller holds the lock.
func (w *Writer) add(name string, line []byte) error {
	if w.closed {
		return w.failed(name, os.ErrClosed)
	}
	w.used += int64(len(line))
	if err := w.lines[name].add(line); err != nil {
		err = w.failed(name, err)
		if w.err == nil {
			w.err = err
		}
		return err
	}
	return nil
}

// Finish writes the verdicts and the report, syncs everything, rewrites run.json, seals the
// bundle with its manifest, and closes the Writer. A nil report (the run was cut short) is
// not written. It writes as much as possible and joins the errors; after any error,
// including earlier ones, the bundle has no manifest and counts as unfinished.
func (w *Writer) Finish(run *Run, verdicts []Verdict, report *Report) error {
	if w == nil || w.dir == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.failed(runFile, os.ErrClosed)
	}
	var errs []error
	for name, l := range w.lines {
		if err := l.finish(); err != nil {
			errs = append(errs, w.failed(name, err))
		}
	}
	w.lines = nil
	if verdicts != nil || report != nil {
		errs = append(errs, w.document(verdictsFile, append([]Verdict{}, verdicts...)))
	}
	if report != nil {
		errs = append(errs, w.document(resultFile, report))
	}
	if run != nil {
		errs = append(errs, w.document(runFile, withSchema(run)))
	}
	if errors.Join(errs...) == nil && w.err == nil && run != nil && report != nil {
		errs = append(errs, Seal(w.root, w.manifest(run)))
	}
	errs = append(errs, w.close())
	return errors.Join(errs...)
}

// manifest returns the manifest of a run.
func (w *Writer) manifest(run *Run) Manifest {
	return Manifest{
		Kind: KindConform, Tool: run.Tool, Run: run.ID, Started: run.Started, Ended: run.Ended,
		Target: run.Target, Profile: run.Profile, Seed: run.Seed, Interrupted: run.Interrupted,
		Limit: w.limit, Omitted: w.omitted,
	}
}

// Close closes the files and leaves the bundle unfinished. It does nothing after Finish.
func (w *Writer) Close() error {
	if w == nil || w.dir == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.close()
}

func (w *Writer) close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	var errs []error
	for _, l := range w.lines {
		errs = append(errs, l.file.Close())
	}
	return errors.Join(append(errs, w.root.Close())...)
}

// document writes v as an indented JSON file atomically.
func (w *Writer) document(name string, v any) error {
	text, err := encode(v, "  ")
	if err == nil {
		err = ReplaceFile(w.root, name, text, true)
	}
	if err != nil {
		return w.failed(name, err)
	}
	return nil
}

func (w *Writer) failed(name string, err error) error {
	return fmt.Errorf("bundle file %s could not be written: %w", filepath.Join(w.dir, filepath.FromSlash(name)), err)
}
