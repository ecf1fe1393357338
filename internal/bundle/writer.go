package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Writer writes a bundle directory: run.json at once, each observation as one
// line of observations.jsonl in one write (so that a killed run loses at most
// its last line), scripts/ID.yaml, and at the end verdicts.json and result.json.
//
// A nil Writer, and one of directory "", keeps nothing and never fails. All
// methods are safe for concurrent use. After the first failed write of an
// observation (a full disk) that error has been returned once; later
// observations are dropped, and Err keeps the error.
type Writer struct {
	dir string

	mu      sync.Mutex
	root    *os.Root // nil: nothing is kept, or closed
	lines   *os.File
	scripts map[string]string
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
	w := &Writer{dir: dir, root: root, scripts: map[string]string{}}
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
	f, err := w.root.OpenFile(observationsFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return w.failed(observationsFile, err)
	}
	w.lines = f
	return nil
}

func withSchema(run *Run) *Run {
	r := *run
	if r.Schema == "" {
		r.Schema = RunSchema
	}
	return &r
}

// Dir is the directory, "" when nothing is kept.
func (w *Writer) Dir() string {
	if w == nil {
		return ""
	}
	return w.dir
}

// Err is the first error of writing an observation, or nil.
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
	if err := w.replace(name, text); err != nil {
		return err
	}
	w.scripts[id] = string(text)
	return nil
}

// Observation appends one observation as one line. One that is too large to be
// read back is refused; the others go on.
func (w *Writer) Observation(o *Observation) error {
	if w == nil || w.dir == "" {
		return nil
	}
	line, err := encode(o, "")
	if err != nil {
		return fmt.Errorf("observation of %s: %w", o.Scenario, err)
	}
	if len(line) > maxLine {
		return fmt.Errorf("observation of %s is %d bytes long, a bundle holds at most %d", o.Scenario, len(line), maxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return w.failed(observationsFile, os.ErrClosed)
	case w.err != nil:
		return nil
	}
	if _, err := w.lines.Write(line); err != nil {
		// Nothing is written behind it: a part of this line is at most the last
		// line of the file, which the reader leaves out.
		w.err = w.failed(observationsFile, err)
		return w.err
	}
	return nil
}

// Finish writes the verdicts and the report, syncs everything and rewrites
// run.json last: a run with an end has all its files. A nil report (the run was
// cut short) is not written. All that can be written is, and the errors are
// joined. The Writer is closed afterwards.
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
	if err := w.lines.Sync(); err != nil {
		errs = append(errs, w.failed(observationsFile, err))
	}
	if verdicts != nil || report != nil {
		errs = append(errs, w.document(verdictsFile, append([]Verdict{}, verdicts...)))
	}
	if report != nil {
		errs = append(errs, w.document(resultFile, report))
	}
	if run != nil {
		errs = append(errs, w.document(runFile, withSchema(run)))
	}
	errs = append(errs, w.close())
	return errors.Join(errs...)
}

// Close gives up the files without an end: the bundle stays as it is, partial.
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
	var err error
	if w.lines != nil {
		err = w.lines.Close()
	}
	return errors.Join(err, w.root.Close())
}

// document writes v as an indented JSON file, whole or not at all.
func (w *Writer) document(name string, v any) error {
	text, err := encode(v, "  ")
	if err != nil {
		return w.failed(name, err)
	}
	return w.replace(name, text)
}

// replace writes a file under another name, syncs it and renames it: a reader,
// or a crash, sees the old file or the new one.
func (w *Writer) replace(name string, text []byte) error {
	temp := tempPrefix + filepath.Base(name)
	f, err := w.root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return w.failed(name, err)
	}
	_, err = io.Copy(f, bytes.NewReader(text))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = w.root.Rename(temp, name)
	}
	if err != nil {
		_ = w.root.Remove(temp)
		return w.failed(name, err)
	}
	return nil
}

func (w *Writer) failed(name string, err error) error {
	return fmt.Errorf("bundle file %s could not be written: %w", filepath.Join(w.dir, filepath.FromSlash(name)), err)
}

// encode is v as JSON with a newline, and with <, > and & as they are.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
