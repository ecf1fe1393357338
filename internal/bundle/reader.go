package bundle

import (
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

// Bundle is a bundle that was read back.
type Bundle struct {
	Dir          string
	Run          *Run
	Observations []*Observation
	Scripts      map[string][]byte // by scenario id
	Report       *Report           // nil when the run was cut short
	Verdicts     []Verdict
	// Partial says in words what is missing or was cut.
	Partial []string
}

// Open reads a bundle. A last line of observations.jsonl that was cut, and
// files that a run which was cut short does not leave, are tolerated and said in
// Partial. Everything else is strict: what is not valid is an error that names
// the file and line. Files over a limit are refused before they are read into
// memory, and links that lead out of the directory are not followed. Fields that
// this version does not know are left out.
func Open(dir string) (*Bundle, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	defer func() { _ = root.Close() }()
	r := reader{root: root, b: &Bundle{Dir: dir, Scripts: map[string][]byte{}}}
	for _, read := range []func() error{r.run, r.observations, r.scripts, r.verdicts, r.result} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if err := r.compare(); err != nil {
		return nil, err
	}
	return r.b, nil
}

type reader struct {
	root *os.Root
	b    *Bundle
}

func (r *reader) run() error {
	run := &Run{}
	err := r.document(runFile, run, func() string { return run.Schema }, RunSchema)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a bundle: it has no %s; name the directory that was given to --out", r.b.Dir, runFile)
	}
	if err != nil {
		return err
	}
	r.b.Run = run
	if run.Ended.IsZero() {
		r.partial("the run has no end: it was cut short")
	} else if run.Interrupted {
		r.partial("the run was interrupted")
	}
	return nil
}

func (r *reader) observations() error {
	f, err := r.root.Open(observationsFile)
	if errors.Is(err, fs.ErrNotExist) {
		r.partial(observationsFile + " is missing")
		return nil
	}
	if err != nil {
		return r.failed(observationsFile, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return r.failed(observationsFile, err)
	}
	if info.Size() > maxObservations {
		return r.failed(observationsFile, tooLong(info.Size(), maxObservations))
	}
	l := lineReader{name: r.path(observationsFile), in: f, limit: maxLine}
	if r.b.Observations, err = l.all(); err != nil {
		return err
	}
	if l.cut != "" {
		r.partial(l.cut)
	}
	return nil
}

func (r *reader) scripts() error {
	entries, err := fs.ReadDir(r.root.FS(), scriptsDir)
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
	err := r.document(verdictsFile, &r.b.Verdicts, nil, "")
	if errors.Is(err, fs.ErrNotExist) {
		r.partial(verdictsFile + " is missing: the run was cut short")
		return nil
	}
	return err
}

func (r *reader) result() error {
	report := &Report{}
	err := r.document(resultFile, report, func() string { return report.Schema }, ReportSchema)
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

// compare holds the files against each other: the scripts that ran must be the
// ones that are here, and what the report speaks of should have been observed.
func (r *reader) compare() error {
	type key struct {
		id   string
		axes Axes
	}
	seen := map[key]bool{}
	missing := map[string]bool{}
	for i, o := range r.b.Observations {
		seen[key{o.Scenario, o.Axes}] = true
		at := fmt.Sprintf("%s:%d", r.path(observationsFile), i+1)
		if o.Run != "" && r.b.Run.ID != "" && o.Run != r.b.Run.ID {
			return fmt.Errorf("%s: the observation belongs to run %q, the bundle to run %q", at, o.Run, r.b.Run.ID)
		}
		text, ok := r.b.Scripts[o.Scenario]
		if !ok {
			missing[o.Scenario] = true
			continue
		}
		if sum := sha256.Sum256(text); o.Script != "" && o.Script != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("%s: the observation is of a script of digest %s, but the text of %s/%s%s is another: the bundle was changed", at, o.Script, scriptsDir, o.Scenario, scriptExt)
		}
	}
	if len(missing) > 0 {
		r.partial(fmt.Sprintf("the scripts of %d observed scenarios are missing", len(missing)))
	}
	if r.b.Report == nil {
		return nil
	}
	n := 0
	for _, s := range r.b.Report.Scenarios {
		if !seen[key{s.ID, s.Axes}] {
			n++
		}
	}
	if n > 0 {
		r.partial(fmt.Sprintf("%d results have no observation: they could not be written", n))
	}
	return nil
}

// document reads a JSON file into v; schema, when not nil, is read afterwards and compared.
func (r *reader) document(name string, v any, schema func() string, want string) error {
	text, err := r.file(name, maxDocument)
	if err != nil {
		return err
	}
	if schema != nil {
		// The version is looked at first: a newer one may have fields of other types.
		var head struct {
			Schema string `json:"schema"`
		}
		if json.Unmarshal(text, &head) == nil {
			if err := checkSchema(head.Schema, want); err != nil {
				return r.failed(name, err)
			}
		}
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s:%d: %w", r.path(name), lineOf(text, err), err)
	}
	return nil
}

func (r *reader) file(name string, limit int64) ([]byte, error) {
	f, err := r.root.Open(name)
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
	return fmt.Errorf("%d bytes or more, at most %d are read", n, limit)
}

// lineOf is the line of text in which a JSON error lies.
func lineOf(text []byte, err error) int {
	var off int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		off = syntax.Offset
	case errors.As(err, &kind):
		off = kind.Offset
	}
	off = min(max(off, 0), int64(len(text)))
	return 1 + strings.Count(string(text[:off]), "\n")
}
