package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Parse parses one script. It checks the language (the published schema), and names,
// references, ranges and patterns; it does not check that the rules exist.
// Errors are *ScriptError, joined in the order of their places.
func Parse(file string, text []byte) (*Scenario, error) {
	s, d := parseScript(file, text, checked)
	if len(d.errs) > 0 {
		return nil, joinErrors(d.errs)
	}
	return s, nil
}

// parseScript is Parse that also returns the document, for further checks. The scenario is nil if there are mistakes.
func parseScript(file string, text []byte, t trust) (*Scenario, *document) {
	s, d := decodeScript(file, text, t)
	if len(d.errs) > 0 {
		return nil, d
	}
	return s, d
}

// decodeScript is parseScript that also returns a scenario with mistakes, unless it breaks the schema.
func decodeScript(file string, text []byte, t trust) (*Scenario, *document) {
	d, value := parseDocument(file, text)
	if value == nil && len(d.errs) == 0 {
		d.errorf(d.root, "", "the file has no content")
	}
	if len(d.errs) == 0 && t != trusted {
		d.validate("scenario", value)
	}
	if d.nodes["/send"] != nil && d.nodes["/steps"] != nil {
		d.errorf(d.key("/send"), "put the request among the steps", "a script has either send or steps")
	}
	if len(d.errs) > 0 {
		return nil, d
	}
	s := new(Scenario)
	if err := desugar(d.root).Decode(s); err != nil {
		d.decodeError(err)
		return nil, d
	}
	sum := sha256.Sum256(text)
	s.File, s.Text, s.Digest = file, slices.Clone(text), hex.EncodeToString(sum[:])
	s.Area = areaOf(file)
	s.place()
	checkScenario(s, d)
	return s, d
}

// areaOf returns the name of the folder of a script, or "".
func areaOf(file string) string {
	dir := path.Base(path.Dir(filepath.ToSlash(file)))
	if dir == "." || dir == "/" {
		return ""
	}
	return dir
}

// place sets At of every step.
func (s *Scenario) place() {
	for i := range s.Steps {
		s.Steps[i].place(fmt.Sprintf("steps[%d]", i))
	}
}

func (s *Step) place(at string) {
	s.At = at
	for i := range s.Parallel {
		s.Parallel[i].place(fmt.Sprintf("%s.parallel[%d]", at, i))
	}
	if s.Race != nil {
		s.Race.A.place(at + ".race.a")
		s.Race.B.place(at + ".race.b")
	}
}

const maxTitle = 100 // characters

// lintStyle reports breaches of the conventions of the catalogue: the title fits one line, every clause has an
// expectation, and the id matches area and file.
func lintStyle(s *Scenario, d *document) {
	if n := len([]rune(s.Title)); n > maxTitle {
		d.errorf(d.at("/title"), "", "the title is %d characters long; at most %d fit on a line of a report", n, maxTitle)
	}
	if strings.HasSuffix(s.Title, ".") {
		d.errorf(d.at("/title"), "", "the title ends with a full stop; write titles without one")
	}
	i := strings.LastIndexByte(s.ID, '.')
	area, name := strings.ReplaceAll(s.ID[:i], ".", "-"), s.ID[i+1:]
	if s.Area != "" && s.Area != area {
		d.errorf(d.at("/id"), fmt.Sprintf("the folder %q needs an id such as %s.%s", s.Area, strings.ReplaceAll(s.Area, "-", "."), name),
			"the id %q does not match the folder: it belongs to %q", s.ID, area)
	}
	if base := strings.TrimSuffix(path.Base(filepath.ToSlash(s.File)), ".yaml"); base != name && s.Area != "" {
		d.errorf(d.at("/id"), "", "the id ends in %q and the file is called %q", name, base+".yaml")
	}
	for i, c := range s.Expect {
		if len(c.Subjects)+len(c.Orders)+len(c.Metrics)+len(c.Parity)+len(c.Sequence) == 0 {
			d.errorf(d.clause(i), "", "the clause expects nothing")
		}
	}
	lintPauses(s, d)
}
