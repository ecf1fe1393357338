package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"assay/internal/base/safefile"
)

//go:embed rules.yaml */*.yaml
var embedded embed.FS

// maxCatalogue limits the scripts of a folder, in bytes.
const maxCatalogue = 16 << 20

const profilesFolder = "profiles"

// otherFolders contain no scripts.
var otherFolders = []string{profilesFolder, "schema", "testdata"}

// Load returns the embedded catalogue. Its scenarios and rules are shared by all callers and must
// not be changed; its lists are the caller's own.
func Load() (*Catalogue, error) {
	all, err := builtin()
	if err != nil {
		return nil, err
	}
	return &Catalogue{Scenarios: slices.Clone(all.Scenarios), Rules: slices.Clone(all.Rules)}, nil
}

// embeddedCatalogue is the embedded catalogue, once it was needed.
var embeddedCatalogue struct {
	sync.Once
	*Catalogue
	err error
}

// builtin returns the embedded catalogue, which it reads once.
func builtin() (*Catalogue, error) {
	e := &embeddedCatalogue
	e.Do(func() {
		if e.Catalogue, e.err = unmarshal(generated); e.Catalogue == nil && e.err == nil {
			e.Catalogue, e.err = parseEmbedded()
		}
	})
	return e.Catalogue, e.err
}

// parseEmbedded reads the embedded YAML.
func parseEmbedded() (*Catalogue, error) {
	return loadCatalogue(source{fsys: embedded, trust: trusted}, nil)
}

// source is a folder from which a catalogue is read.
type source struct {
	fsys fs.FS
	root *os.Root // a user's folder, the same as fsys; scripts may be directly in it
	dir  string   // in front of the names of files in errors
	trust
}

// scripts lists the files of scripts, sorted.
func (s source) scripts() ([]string, error) {
	top, err := fs.ReadDir(s.fsys, ".")
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range top {
		name := e.Name()
		switch folder, err := s.isFolder(e); {
		case err != nil:
			return nil, err
		case folder && !slices.Contains(otherFolders, name):
			inside, err := fs.ReadDir(s.fsys, name)
			if err != nil {
				return nil, err
			}
			for _, e := range inside {
				if path.Ext(e.Name()) == ".yaml" {
					files = append(files, path.Join(name, e.Name()))
				}
			}
		case !folder && s.root != nil && path.Ext(name) == ".yaml" && name != "rules.yaml":
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files, nil
}

// isFolder reports whether an entry is a folder or a link to one. A link to a folder outside is an error.
func (s source) isFolder(e fs.DirEntry) (bool, error) {
	if e.Type()&fs.ModeSymlink == 0 || s.root == nil {
		return e.IsDir(), nil
	}
	return safefile.IsFolder(s.root, e.Name())
}

// read returns the text of a file.
func (s source) read(name string) ([]byte, error) {
	if s.root == nil {
		return fs.ReadFile(s.fsys, name)
	}
	return safefile.ReadIn(s.root, name, maxFile)
}

// builtinRules are the embedded rules.
func builtinRules() ([]*Rule, error) {
	all, err := builtin()
	if err != nil {
		return nil, err
	}
	return slices.Clone(all.Rules), nil
}

func loadCatalogue(from source, base []*Rule) (*Catalogue, error) {
	c := &Catalogue{Rules: base}
	errs, err := c.readRules(from)
	if err != nil {
		return nil, err
	}
	mistakes, err := c.readScripts(from)
	if err != nil {
		return nil, err
	}
	errs = append(errs, mistakes...)
	if from.root != nil {
		if mistakes, err = c.ownProfiles(from); err != nil {
			return nil, err
		}
		errs = append(errs, mistakes...)
	}
	if len(errs) > 0 {
		return nil, joinErrors(errs)
	}
	slices.SortFunc(c.Scenarios, func(a, b *Scenario) int { return strings.Compare(a.ID, b.ID) })
	return c, nil
}

// readRules adds the rules.yaml of a folder, if there is one, and returns the errors in it.
func (c *Catalogue) readRules(from source) ([]*ScriptError, error) {
	text, err := from.read("rules.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	rules, d := parseRules(path.Join(from.dir, "rules.yaml"), text, from.trust)
	if from.root != nil {
		c.RulesText = text
		c.checkOwnRules(rules, d)
		for _, r := range rules {
			c.own = append(c.own, r.ID)
		}
	}
	c.checkStanding(rules, d)
	c.addRules(rules)
	return d.errs, nil
}

// readScripts adds the scripts of a folder, and returns the errors in them.
func (c *Catalogue) readScripts(from source) ([]*ScriptError, error) {
	files, err := from.scripts()
	if err != nil {
		return nil, err
	}
	var errs []*ScriptError
	byID := map[string]string{}
	length := 0
	for _, file := range files {
		text, err := from.read(file)
		if err != nil {
			return nil, fmt.Errorf("read a script: %w", err)
		}
		if length += len(text); length > maxCatalogue {
			return nil, fmt.Errorf("the scripts of %s are longer than %d bytes in all, the limit: name a folder with fewer of them", from.dir, maxCatalogue)
		}
		file = path.Join(from.dir, file)
		s, d := parseScript(file, text, from.trust)
		if s != nil {
			checkRules(s, d, c)
			if first, twice := byID[s.ID]; twice {
				d.checkf(CheckDuplicateID, d.at("/id"), "", "%s already has the id %q", first, s.ID)
			}
			byID[s.ID] = file
			c.Scenarios = append(c.Scenarios, s)
		}
		errs = append(errs, d.errs...)
	}
	return errs, nil
}

// AddRules adds the rules of a rules.yaml, and replaces those with the same id.
// Errors are *ScriptError, joined.
func (c *Catalogue) AddRules(file string, text []byte) error {
	rules, d := parseRules(file, text, checked)
	if len(d.errs) > 0 {
		return joinErrors(d.errs)
	}
	c.addRules(rules)
	return nil
}

// addRules adds rules, replaces those with the same id, and sorts.
func (c *Catalogue) addRules(rules []*Rule) {
	all := slices.Clone(rules)
	for _, old := range c.Rules {
		if !slices.ContainsFunc(rules, func(r *Rule) bool { return r.ID == old.ID }) {
			all = append(all, old)
		}
	}
	slices.SortFunc(all, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	c.Rules = all
}

// checkStanding reports added rules with a violation kind of another rule, which would be blamed
// for the same breach. A rule that is replaced keeps none.
func (c *Catalogue) checkStanding(added []*Rule, d *document) {
	ids, owners := map[string]bool{}, map[string]string{}
	for _, r := range added {
		ids[r.ID] = true
	}
	for _, old := range c.Rules {
		for _, kind := range old.Standing {
			if !ids[old.ID] {
				owners[kind] = old.ID
			}
		}
	}
	for i, r := range added {
		for j, kind := range r.Standing {
			if owner := owners[kind]; owner != "" {
				d.errorf(d.at(fmt.Sprintf("/%d/standing/%d", i, j)), "", "%q already belongs to the rule %s", kind, owner)
			}
		}
	}
}

// checkRules checks that the rules of s exist, and that each has a clause or is a standing rule.
func checkRules(s *Scenario, d *document, c *Catalogue) {
	var ids []string
	for _, r := range c.Rules {
		ids = append(ids, r.ID)
	}
	for i, id := range s.Rules {
		rule := c.Rule(id)
		place := d.listed("/rules", i)
		if rule == nil {
			d.checkf(CheckUnknownRule, place, didYouMean(id, ids), "there is no rule %q", id)
			continue
		}
		proven := len(rule.Standing) > 0 || slices.ContainsFunc(s.Expect, func(cl Clause) bool {
			return cl.Rule == id || cl.Rule == "" && len(s.Rules) == 1
		})
		if !proven {
			d.errorf(place, "", "no clause proves the rule %q", id)
		}
	}
}

// parseRules reads a rules.yaml.
func parseRules(file string, text []byte, t trust) ([]*Rule, *document) {
	d, value := parseDocument(file, text)
	if len(d.errs) > 0 {
		return nil, d
	}
	if t != trusted {
		d.validate("rules", value)
	}
	if len(d.errs) > 0 {
		return nil, d
	}
	var rules []*Rule
	if err := d.root.Decode(&rules); err != nil {
		d.decodeError(err)
		return nil, d
	}
	ids, kinds := map[string]bool{}, map[string]string{}
	for i, r := range rules {
		place := fmt.Sprintf("/%d", i)
		if ids[r.ID] {
			d.errorf(d.at(place+"/id"), "", "the rule %q is listed twice", r.ID)
		}
		ids[r.ID] = true
		for j, k := range r.Standing {
			if other, twice := kinds[k]; twice {
				d.errorf(d.at(fmt.Sprintf("%s/standing/%d", place, j)), "", "%q already belongs to the rule %s", k, other)
			}
			kinds[k] = r.ID
		}
	}
	return rules, d
}

// Scenario returns the scenario with the id, or nil. A nil catalogue has none.
func (c *Catalogue) Scenario(id string) *Scenario {
	if c == nil {
		return nil
	}
	for _, s := range c.Scenarios {
		if s != nil && s.ID == id {
			return s
		}
	}
	return nil
}

// Rule returns the rule with the id, or nil. A nil catalogue has none.
func (c *Catalogue) Rule(id string) *Rule {
	if c == nil {
		return nil
	}
	for _, r := range c.Rules {
		if r != nil && r.ID == id {
			return r
		}
	}
	return nil
}
