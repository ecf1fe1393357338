package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"assay/internal/base/safefile"
)

// LoadDir returns the catalogue of a user's folder: its scripts, as AREA/NAME.yaml or NAME.yaml,
// instead of the embedded ones; its rules.yaml beside the built-in rules; its profiles/NAME.yaml.
// The ids of its rules and profiles must differ from the built-in ones. Errors name their files
// with dir in front. A folder that is unreadable or has no script is an error.
func LoadDir(dir string) (*Catalogue, error) {
	root, err := safefile.Folder(dir)
	if err != nil {
		return nil, fmt.Errorf("read the scenarios: %w", err)
	}
	defer func() { _ = root.Close() }()
	rules, err := builtinRules()
	if err != nil {
		return nil, err
	}
	c, err := loadCatalogue(source{fsys: root.FS(), root: root, dir: dir}, rules)
	if err == nil && len(c.Scenarios) == 0 {
		return nil, fmt.Errorf("%s contains no script; scripts are AREA/NAME.yaml or NAME.yaml", dir)
	}
	return c, err
}

// checkOwnRules reports rules of a user's folder with the id of a built-in rule: to change its
// level or allow its breach is the business of a profile.
func (c *Catalogue) checkOwnRules(rules []*Rule, d *document) {
	for i, r := range rules {
		if c.Rule(r.ID) != nil {
			d.errorf(d.at(fmt.Sprintf("/%d/id", i)), "give it another id; a profile changes levels and allows breaches",
				"%q is already a built-in rule", r.ID)
		}
	}
}

// ownProfiles reads the profiles of a user's folder, and returns the errors in them.
func (c *Catalogue) ownProfiles(from source) ([]*ScriptError, error) {
	entries, err := fs.ReadDir(from.fsys, profilesFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the profiles: %w", err)
	}
	var errs []*ScriptError
	for _, e := range entries {
		name, isProfile := strings.CutSuffix(e.Name(), ".yaml")
		if !isProfile {
			continue
		}
		text, err := from.read(path.Join(profilesFolder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a profile: %w", err)
		}
		file := path.Join(from.dir, profilesFolder, e.Name())
		p, err := c.readProfile(file, text, checked)
		switch {
		case err != nil:
			errs = append(errs, scriptErrors(file, err)...)
		case p.ID != name:
			errs = append(errs, &ScriptError{File: file, Message: fmt.Sprintf("the profile has the id %q and the file is called %q", p.ID, e.Name())})
		case slices.Contains(ProfileNames(), p.ID):
			errs = append(errs, &ScriptError{File: file, Message: fmt.Sprintf("there is a built-in profile %q: give this one another id", p.ID)})
		default:
			c.Profiles = append(c.Profiles, p)
		}
	}
	return errs, nil
}

// unproven reports the rules of a user's folder that no scenario proves.
func (c *Catalogue) unproven(rules *document) []*ScriptError {
	for i, id := range c.own {
		r := c.Rule(id)
		named := slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool { return slices.Contains(s.Rules, id) })
		if !named && len(r.Standing) == 0 && r.Untestable == "" {
			rules.errorf(rules.at(fmt.Sprintf("/%d/id", i)), "write a script that proves it, or say why it is untestable", "no script proves the rule %q", id)
		}
	}
	return rules.errs
}

// Widened returns the catalogue of a user's folder with the built-in scenarios for which the terms
// of a selection ask, as in Select. A term asks for them if it names ids, rules, features or areas
// and matches no scenario of the folder. Terms that do not ask leave the catalogue as it is.
// A scenario of the folder takes the place of a built-in one with the same id.
func (c *Catalogue) Widened(terms string) (*Catalogue, error) {
	parsed, err := parseTerms(terms)
	if err != nil {
		return nil, err
	}
	asking := slices.DeleteFunc(slices.Clone(parsed), func(t term) bool {
		return t.not || t.kind == "axis" || t.kind == "level" || c.anyMatches(t, c.Scenarios...)
	})
	if len(asking) == 0 {
		return c, nil
	}
	all, err := Load()
	if err != nil {
		return nil, err
	}
	out := *c
	out.Scenarios = slices.Clone(c.Scenarios)
	for _, s := range all.Scenarios {
		asked := slices.ContainsFunc(asking, func(t term) bool {
			return all.anyMatches(t, s)
		})
		if asked && c.Scenario(s.ID) == nil {
			out.Scenarios = append(out.Scenarios, s)
		}
	}
	slices.SortFunc(out.Scenarios, func(a, b *Scenario) int { return strings.Compare(a.ID, b.ID) })
	return &out, nil
}

// Own returns a catalogue of the scenarios, of the rules that they prove and, for a user's folder,
// of all rules in it.
func (c *Catalogue) Own() *Catalogue {
	out := *c
	out.Rules = slices.DeleteFunc(slices.Clone(c.Rules), func(r *Rule) bool {
		proven := slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool { return slices.Contains(s.Rules, r.ID) })
		return !proven && !slices.Contains(c.own, r.ID)
	})
	return &out
}

// Adopt adds the rules and profiles of the catalogue of a user's folder, in place of rules with
// the same id.
func (c *Catalogue) Adopt(own *Catalogue) error {
	if len(own.RulesText) > 0 {
		if err := c.AddRules("rules.yaml", own.RulesText); err != nil {
			return err
		}
	}
	c.Profiles = own.Profiles
	return nil
}

// anyMatches reports whether a term matches any instance of the scenarios.
func (c *Catalogue) anyMatches(t term, of ...*Scenario) bool {
	for _, s := range of {
		for _, axes := range s.Permutations() {
			if c.matches(Instance{s, axes}, t) {
				return true
			}
		}
	}
	return false
}
