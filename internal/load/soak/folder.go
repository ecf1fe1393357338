package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/base/safefile"
	"assay/internal/load"
	"assay/internal/record/bundle"
)

// The limits for files that are read back: a folder may come from anywhere.
const (
	maxReport = 256 << 20
	maxLines  = 512 << 20
	// mostIndex is far above the number of windows: one that could not be measured is left out.
	mostIndex = 1 << 30
)

// folder is the directory of a soak: soak.json with the report, which is written at the beginning without
// windows and at the end whole, windows.jsonl with a line for each window, synced when the window ends, and the
// manifest, which is written last. A nil folder keeps nothing.
type folder struct {
	root *os.Root
	file *os.File
}

// createFolder makes the directory, which must be empty, or opens that of a soak to resume.
func createFolder(dir string, resume bool) (*folder, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // a nil folder is a valid no-op
	}
	root, err := load.OpenOut(dir, func(*os.Root) bool { return resume },
		"directory %s is not empty (it holds %q): name another directory, or continue the soak in it with --resume; nothing was changed")
	if err != nil {
		return nil, err
	}
	f := &folder{root: root}
	if resume {
		err = f.trim()
	}
	if err == nil {
		f.file, err = root.OpenFile(bundle.WindowsFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the output directory: %w", err), root.Close())
	}
	return f, nil
}

// trim cuts off a last line that was not written whole.
func (f *folder) trim() error {
	text, err := safefile.ReadIn(f.root, bundle.WindowsFile, maxLines)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole == len(text) {
		return nil
	}
	file, err := f.root.OpenFile(bundle.WindowsFile, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(int64(whole)), file.Close())
}

// begin writes the report without windows.
func (f *folder) begin(r *bundle.SoakReport) error {
	if f == nil {
		return nil
	}
	return f.report(r)
}

func (f *folder) report(r *bundle.SoakReport) error {
	if err := load.ReplaceReport(f.root, bundle.SoakFile, r, true); err != nil {
		return incomplete(bundle.SoakFile, err)
	}
	return nil
}

func incomplete(name string, err error) error {
	return fmt.Errorf("writing %s: %w; what was recorded before is kept: make room, and continue with --resume", name, err)
}

// window appends a window and waits until it is on the disk.
func (f *folder) window(w *bundle.SoakWindow) error {
	if f == nil {
		return nil
	}
	text, err := json.Marshal(w)
	if err == nil {
		_, err = f.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return incomplete(bundle.WindowsFile, err)
	}
	return nil
}

// finish writes the report and seals the folder as a bundle.
func (f *folder) finish(r *bundle.SoakReport, failed error) error {
	if f == nil {
		return failed
	}
	err := failed
	if err == nil {
		err = f.report(r)
	}
	err = errors.Join(err, f.file.Close())
	if err == nil {
		err = bundle.Seal(f.root, bundle.Manifest{
			Kind: bundle.KindSoak, Tool: r.Tool, Run: r.Run, Seed: r.Plan.Seed, Started: r.Started, Ended: r.Started.Add(time.Duration(r.DurationMS) * time.Millisecond),
			Target: bundle.Target{URL: r.Target.URL, Embedded: r.Target.Embedded}, Profile: r.Target.Profile, Interrupted: r.Interrupted,
		})
	}
	return errors.Join(err, f.root.Close())
}

// Is reports whether a path is the directory of a soak.
func Is(path string) bool {
	_, err := os.Stat(filepath.Join(path, bundle.SoakFile))
	return err == nil
}

// Open reads the directory of a soak (--out), and concludes on the recorded windows if the soak was killed. A
// line that was not written whole is left out; any other damage is an error.
func Open(path string) (*bundle.SoakReport, error) {
	root, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	text, err := safefile.ReadIn(root, bundle.SoakFile, maxReport)
	if err != nil {
		return nil, fmt.Errorf("%s is not the directory of a soak: %w", path, err)
	}
	name := filepath.Join(path, bundle.SoakFile)
	r := &bundle.SoakReport{}
	if err := bundle.DecodeDocument(text, r, bundle.SoakSchema); err != nil {
		return nil, fmt.Errorf("%s: not a report of a soak: %w", name, err)
	}
	if r.Schema != bundle.SoakSchema || r.Plan.WindowMS <= 0 || r.Plan.DurationMS <= 0 {
		return nil, fmt.Errorf("%s: not a report of a soak: its schema is %q, and its windows take %d ms", name, r.Schema, r.Plan.WindowMS)
	}
	if len(r.Windows) > 0 && !r.Interrupted {
		return r, nil
	}
	windows, err := readWindows(root, filepath.Join(path, bundle.WindowsFile))
	if err != nil {
		return nil, err
	}
	r.Windows, r.Interrupted = windows, true
	Conclude(r)
	return r, nil
}

// openFolder opens a directory. Opening a pipe could wait for a writer.
func openFolder(path string) (*os.Root, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: name that of --out", path)
	}
	return os.OpenRoot(path)
}

// readWindows reads the recorded windows.
func readWindows(root *os.Root, name string) ([]bundle.SoakWindow, error) {
	text, err := safefile.ReadIn(root, bundle.WindowsFile, maxLines)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []bundle.SoakWindow
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; !strings.HasSuffix(line, "\n") {
			break // it was not written whole
		}
		var w bundle.SoakWindow
		if err := bundle.DecodeDocument([]byte(line), &w, ""); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if w.Index < 1 || w.Index > mostIndex || w.FromMS < 0 || w.ToMS <= w.FromMS || w.ToMS > mostDuration.Milliseconds() {
			return nil, fmt.Errorf("%s:%d: window %d from %d ms to %d ms cannot be", name, n, w.Index, w.FromMS, w.ToMS)
		}
		if last := len(all) - 1; last >= 0 && (w.Index <= all[last].Index || w.FromMS < all[last].ToMS) {
			return nil, fmt.Errorf("%s:%d: window %d from %d ms to %d ms is not after the one before", name, n, w.Index, w.FromMS, w.ToMS)
		}
		if len(all) == mostWindows {
			return nil, fmt.Errorf("%s:%d: more than %d windows", name, n, mostWindows)
		}
		all = append(all, w)
	}
	return all, nil
}

// Again returns the stored verdict of a soak, and the one that its windows give now.
func Again(path string) (stored, again bundle.LoadVerdict, err error) {
	r, err := Open(path)
	if err != nil {
		return "", "", err
	}
	stored = r.Verdict
	root, err := openFolder(path)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = root.Close() }()
	if r.Windows, err = readWindows(root, filepath.Join(path, bundle.WindowsFile)); err != nil {
		return "", "", err
	}
	Conclude(r)
	return stored, r.Verdict, nil
}
