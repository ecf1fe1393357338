package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"assay/internal/base/safefile"
)

// schemaOf names the published schema of each file, or of each line of a .jsonl file.
var schemaOf = map[string]string{
	runFile: "bundle.run", eventsFile: "bundle.event", observationsFile: "bundle.observation",
	reproducersFile: "bundle.reproducer", verdictsFile: "bundle.verdicts", resultFile: "bundle.report",
	SoakFile: "soak",
}

// maxProblems limits the reported problems of one check.
const maxProblems = 100

// Verify checks a bundle without judging it: its manifest, the digest and schema of every
// file, and the absence of other files. Its memory is limited for any bundle, and it opens
// only bundle files, whatever the manifest names.
//
// An error means that dir is not a bundle, or one of an unknown version, or a limit of this
// machine; any other defect is a Problem, and OK is false. It ends with ctx: the digest of a long
// file takes long.
func Verify(ctx context.Context, dir string) (*Verification, error) {
	r, err := openReader(dir)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	defer r.close()
	v := &verifier{
		reader: *r,
		found:  &Verification{Schema: VerificationSchema, Bundle: dir, Problems: []Problem{}},
	}
	m, err := v.manifest()
	if err != nil {
		return nil, err
	}
	if m != nil {
		problems, err := integrity(ctx, r.root, m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		v.add(problems...)
		v.describe(m)
	}
	if err := v.schemas(); err != nil {
		return nil, err
	}
	v.found.OK = len(v.found.Problems) == 0
	if !v.found.OK {
		v.found.Exit = 1
	}
	return v.found, nil
}

// Add adds a problem.
func (v *Verification) Add(kind ProblemKind, file, message string) {
	v.Problems = append(v.Problems, Problem{kind, file, message})
	v.OK, v.Exit = false, 1
}

// verifier is a verification in progress.
type verifier struct {
	reader
	found *Verification
}

func (v *verifier) add(problems ...Problem) {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], Problem{Kind: problems[0].Kind, Message: fmt.Sprintf("and %d more like these", more)})
	}
	v.found.Problems = append(v.found.Problems, problems...)
}

// manifest reads the manifest. A missing or broken one is a problem if the directory is
// otherwise a bundle, else an error.
func (v *verifier) manifest() (*Manifest, error) {
	text, err := v.file(ManifestFile, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		if why := notABundle(v.root); why != "" && !v.exists(loadFile) && !v.exists(SoakFile) {
			return nil, fmt.Errorf("%s is not a bundle: it has no %s, and %s; name the directory of --out", v.b.Dir, ManifestFile, why)
		}
		if v.exists(loadFile) {
			v.found.Kind = KindLoad
		}
		if v.exists(SoakFile) {
			v.found.Kind = KindSoak
		}
		v.add(Problem{ProblemUnfinished, ManifestFile, "it has no " + ManifestFile + ": the run was killed, could not write it, or is still in progress"})
		return nil, nil //nolint:nilnil // an unfinished bundle has none
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := DecodeDocument(text, m, ManifestSchema); err != nil {
		if notABundle(v.root) != "" && !v.exists(loadFile) && !v.exists(SoakFile) || isVersion(err) {
			return nil, fmt.Errorf("%s: %w", v.path(ManifestFile), err)
		}
		v.add(Problem{ProblemManifest, ManifestFile, ManifestFile + " is not readable: " + err.Error()})
		return nil, nil //nolint:nilnil // the digests are lost
	}
	if err := conforms("bundle.manifest", text, maxValues); err != nil {
		v.add(Problem{ProblemSchema, ManifestFile, ManifestFile + " " + err.Error()})
	}
	return m, nil
}

func (v *verifier) exists(name string) bool {
	_, err := v.root.Lstat(name)
	return err == nil
}

// describe sets the tool and run of the bundle.
func (v *verifier) describe(m *Manifest) {
	v.found.Kind, v.found.Tool, v.found.Run = m.Kind, m.Tool, m.Run
	v.found.Files = 1
	if info, err := v.root.Lstat(ManifestFile); err == nil {
		v.found.Bytes = info.Size()
	}
	for _, f := range m.Files {
		v.found.Files++
		v.found.Bytes += f.Size
	}
}

// schemas validates every existing file against its schema. An error is one of this machine.
func (v *verifier) schemas() error {
	for _, name := range documents {
		schema, ok := schemaOf[name]
		if !ok || !v.exists(name) {
			continue
		}
		var err error
		if strings.HasSuffix(name, ".jsonl") {
			err = v.eachLine(name, schema)
		} else {
			err = v.whole(name, schema)
		}
		if safefile.NoDescriptors(err) {
			return err
		}
		if err != nil {
			v.add(Problem{ProblemSchema, name, strings.TrimPrefix(err.Error(), v.b.Dir+string(os.PathSeparator))})
		}
	}
	return nil
}

func (v *verifier) whole(name, schema string) error {
	text, err := v.file(name, maxDocument)
	if err != nil {
		return err
	}
	if err := conforms(schema, text, maxValues); err != nil {
		return fmt.Errorf("%s %w", v.path(name), err)
	}
	return nil
}

func (v *verifier) eachLine(name, schema string) error {
	l, err := v.lines(name, maxObservations)
	if err != nil {
		return err
	}
	defer func() { _ = l.file.Close() }()
	if err := l.each(func(line []byte) error { return conforms(schema, line, maxLineValues) }); err != nil {
		return err
	}
	if l.cut != "" {
		return fmt.Errorf("%s: %s", l.name, l.cut)
	}
	return nil
}

// DecodeDocument decodes a JSON document that may come from anybody: it refuses one with so many
// objects that their values would fill the memory, and, unless schema is "", another version.
func DecodeDocument(text []byte, v any, schema string) error {
	if n := weight(text); n > maxObjects/4 {
		return fmt.Errorf("it has %d JSON objects; the limit is %d", n, maxObjects/4)
	}
	if schema != "" {
		var head struct {
			Schema string `json:"schema"`
		}
		if json.Unmarshal(text, &head) == nil {
			if err := checkSchema(head.Schema, schema); err != nil {
				return err
			}
		}
	}
	return json.Unmarshal(text, v)
}
