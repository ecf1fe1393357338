package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Writer writes a bundle directory: run.json at once, each event, observation and
// reproducer as one line in one write (so that a killed run loses at most its last
// line), scripts/ID.yaml, at the end verdicts.json and result.json, and last the
// manifest.
//
// A nil Writer, and one of directory "", keeps nothing and never fails. All
// methods are safe for concurrent use. After the first failed write to a file (a
// full disk) that error has been returned once; what would follow in that file is
// dropped, Err keeps the error, and the bundle is never sealed.
type Writer struct {
	dir string

	mu      sync.Mutex
	root    *os.Root // nil: nothing is kept, or closed
	lines   map[string]*lineFile
	scripts map[string]string
	limit   int64
	used    int64 // by scripts and lines
	objects int   // in the observations
	parts   int   // and their iterations, connections, exchanges …
	omitted []OmittedObservation
	err     error
	closed  bool
}

// Create makes the directory and writes run.json. It must be absent, empty, or
// an older bundle, whose files are then replaced; anything else is refused and
// left as it is. Nothing is ever written outside the directory, also where a
// file in it is a symbolic link. dir "" gives a Writer that keeps nothing.
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

// Limit bounds the bundle to that many bytes instead of DefaultLimit. It is to be
// called before the first observation. Scripts, verdicts and the result are never
// dropped, so the bundle of a very small limit is larger than that.
func (w *Writer) Limit(bytes int64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = bytes
}

// Omitted are the observations that were not kept so far, and Note says it for people.
func (w *Writer) Omitted() (omitted []OmittedObservation, note string) {
	if w == nil {
		return nil, ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(omitted, w.omitted...), Note(w.omitted, w.limit)
}

// Dir is the directory, "" when nothing is kept.
func (w *Writer) Dir() string {
	if w == nil {
		return ""
	}
	return w.dir
}

// Err is the first error of writing a line, or nil.
func (w *Writer) Err() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Script stores a script's text once. The same text again is no error, another
// text under the same id is one, and so is an id that cannot be a file name.
func (w *Writer) Script(id string, text []byte) error {
	if w == nil || w.dir == "" {
		return nil
	}
	if err := checkScriptID(id); err != nil {
		return err
	}
	if len(text) > maxScript {
		return fmt.Errorf("script %s is %d bytes long, a bundle holds at most %d", id, len(text), maxScript)
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
		return fmt.Errorf("script %s was stored before with another text", id)
	}
	name := scriptsDir + "/" + id + scriptExt
	// The scripts of a run are many, and a sync of each would take a second.
	if err := replaceFile(w.root, name, text, false); err != nil {
		return w.failed(name, err)
	}
	w.scripts[id] = string(text)
	w.used += int64(len(text))
	return nil
}

// Observation appends one observation as one line. One that does not fit into
// the limit of the bundle, or is too large to be read back, is replaced by one
// that has its identity alone and says so; the others go on. worst is the worst
// verdict on it: what passed is the first to be left out.
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

// unfit says why an observation of n bytes, and so many JSON objects and parts, is
// not kept within so many quarters of the limit, "" when it is.
func (w *Writer) unfit(n int64, objects, parts int, quarters int64) string {
	switch {
	case n > maxLine:
		return fmt.Sprintf("an observation of %s is longer than can be read back (%s)", Megabytes(n), Megabytes(maxLine))
	case w.objects+objects > maxObjects:
		return fmt.Sprintf("a bundle holds at most %d JSON objects", maxObjects)
	case w.parts+parts > maxParts:
		return fmt.Sprintf("a bundle holds at most %d iterations, connections and exchanges", maxParts)
	case w.used+n > w.limit/4*quarters:
		return fmt.Sprintf("the bundle was to stay within %s", Megabytes(w.limit))
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

// add appends a line, with the lock held.
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

// Finish writes the verdicts and the report, syncs everything, rewrites run.json
// and seals the bundle with its manifest. A nil report (the run was cut short) is
// not written. All that can be written is, and the errors are joined; after an
// error, also one of before, the bundle has no manifest and counts as unfinished.
// The Writer is closed afterwards.
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

// manifest is all that the manifest says of a run.
func (w *Writer) manifest(run *Run) Manifest {
	return Manifest{
		Kind: KindConform, Tool: run.Tool, Run: run.ID, Started: run.Started, Ended: run.Ended,
		Target: run.Target, Profile: run.Profile, Seed: run.Seed, Interrupted: run.Interrupted,
		Limit: w.limit, Omitted: w.omitted,
	}
}

// Close gives up the files without an end: the bundle stays as it is, unfinished.
// It does nothing after Finish.
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

// document writes v as an indented JSON file, whole or not at all.
func (w *Writer) document(name string, v any) error {
	text, err := encode(v, "  ")
	if err == nil {
		err = replaceFile(w.root, name, text, true)
	}
	if err != nil {
		return w.failed(name, err)
	}
	return nil
}

func (w *Writer) failed(name string, err error) error {
	return fmt.Errorf("bundle file %s could not be written: %w", filepath.Join(w.dir, filepath.FromSlash(name)), err)
}
