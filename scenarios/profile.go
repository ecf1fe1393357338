package scenarios

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
)

// ProfileNames lists the embedded profiles, sorted.
func ProfileNames() []string {
	entries, err := embedded.ReadDir("profiles")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// LoadProfile returns the embedded profile with the name, or reads the file if
// name has a path separator or ends in .yaml. The rules of a profile must be built-in.
func LoadProfile(name string) (*Profile, error) { return (*Catalogue)(nil).LoadProfile(name) }

// LoadProfile returns the profile with the name, of the catalogue's folder or embedded, or reads
// the file if name has a path separator or ends in .yaml. The rules of a profile must be in the
// catalogue; a nil catalogue has the built-in ones, and no folder.
func (c *Catalogue) LoadProfile(name string) (*Profile, error) {
	if !IsProfileName(name) {
		text, err := safefile.Read(name, maxFile)
		if err != nil {
			return nil, fmt.Errorf("read the profile: %w", err)
		}
		return c.readProfile(name, text, checked)
	}
	if p := c.ownProfile(name); p != nil {
		return p, nil
	}
	text, err := embedded.ReadFile(path.Join("profiles", name+".yaml"))
	if err != nil {
		names := c.ProfileNames()
		return nil, fmt.Errorf("there is no profile %q; there are %s, or give the path of a file%s",
			name, strings.Join(names, ", "), asSentence(didYouMean(name, names)))
	}
	return c.readProfile("profiles/"+name+".yaml", text, trusted)
}

// IsProfileName reports whether a text is the name of a profile, and not the path of a file.
func IsProfileName(text string) bool {
	return !strings.ContainsAny(text, `/\`) && !strings.HasSuffix(text, ".yaml")
}

// ownProfile returns the profile of the catalogue's folder with the id, or nil.
func (c *Catalogue) ownProfile(id string) *Profile {
	if c == nil {
		return nil
	}
	for _, p := range c.Profiles {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// ProfileNames lists the profiles of the catalogue's folder and the embedded ones, sorted.
func (c *Catalogue) ProfileNames() []string {
	names := ProfileNames()
	if c != nil {
		for _, p := range c.Profiles {
			names = append(names, p.ID)
		}
	}
	slices.Sort(names)
	return names
}

// ParseProfile parses a profile. Errors are *ScriptError, joined.
func ParseProfile(file string, text []byte) (*Profile, error) {
	return (*Catalogue)(nil).readProfile(file, text, checked)
}

// ParseStoredProfile parses the profile of a bundle, which may be older: a deviation
// without scenarios and symptoms is accepted, and allowed everywhere. The rules of the profile
// must be in the catalogue; a nil catalogue has the built-in ones.
func (c *Catalogue) ParseStoredProfile(file string, text []byte) (*Profile, error) {
	return c.readProfile(file, text, stored)
}

func (c *Catalogue) readProfile(file string, text []byte, t trust) (*Profile, error) {
	d, value := parseDocument(file, text)
	if len(d.errs) == 0 && t != trusted {
		d.validate("profile", value)
	}
	if len(d.errs) > 0 {
		return nil, joinErrors(d.errs)
	}
	p := new(Profile)
	if err := d.root.Decode(p); err != nil {
		d.decodeError(err)
		return nil, joinErrors(d.errs)
	}
	if t != trusted {
		checkProfile(p, d, c)
	}
	if t == checked {
		checkPlaces(p, d)
	}
	if err := joinErrors(d.errs); err != nil {
		return nil, err
	}
	p.setDefaults()
	p.Text = text
	return p, nil
}

// checkProfile reports unknown features, rules and symptoms.
func checkProfile(p *Profile, d *document, c *Catalogue) {
	for i, f := range p.Require {
		checkFeature(d, d.listed("/require", i), f)
	}
	rules, err := c.rules()
	if err != nil {
		d.errorf(nil, "", "%v", err)
		return
	}
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	known := func(place, id string) {
		if !slices.Contains(ids, id) {
			d.checkf(CheckUnknownRule, d.key(place), didYouMean(id, ids), "there is no rule %q", id)
		}
	}
	for id, deviation := range p.Deviations {
		known("/deviations/"+id, id)
		for _, s := range deviation.Symptoms {
			checkSymptom(d, d.key("/deviations/"+id), s)
		}
	}
	for id := range p.Levels {
		known("/levels/"+id, id)
	}
	if l := p.Certification; l != nil && (l.Window < LeastWindow || l.Soak < leastWindows*l.Window) {
		d.errorf(d.key("/certification"), "", "a soak of %v in windows of %v: want at least %d windows of at least %v", l.Soak, l.Window, leastWindows, LeastWindow)
	}
}

// LeastWindow is the shortest window of a soak: a shorter one has too few streams for its percentiles. A certificate's soak
// has at least leastWindows: two of warm-up, and eight for a trend, with two to spare.
const (
	LeastWindow  = 2 * time.Second
	leastWindows = 12
)

// rules returns the rules of the catalogue; a nil one has the built-in rules.
func (c *Catalogue) rules() ([]*Rule, error) {
	if c == nil {
		return builtinRules()
	}
	return c.Rules, nil
}

// checkPlaces reports deviations that allow every breach of their rule, and globs that match nothing.
func checkPlaces(p *Profile, d *document) {
	for id, deviation := range p.Deviations {
		for i, glob := range deviation.Scenarios {
			checkGlob(d, d.listed("/deviations/"+id+"/scenarios", i), glob)
		}
		if len(deviation.Scenarios) == 0 && len(deviation.Symptoms) == 0 {
			d.errorf(d.key("/deviations/"+id), "write {reason: …, scenarios: [ID]}, or symptoms, so that another breach of the rule still fails",
				"the deviation from %s does not say where the rule may be broken", id)
		}
	}
}

// checkSymptom reports a symptom that is not known.
func checkSymptom(d *document, n *yaml.Node, s bundle.Symptom) {
	if all := bundle.Symptoms(); !slices.Contains(all, s) {
		names := make([]string, len(all))
		for i := range all {
			names[i] = string(all[i])
		}
		d.errorf(n, didYouMean(string(s), names), "there is no symptom %q", s)
	}
}

// setDefaults sets the names of the metrics that the profile does not name.
func (p *Profile) setDefaults() {
	metrics := map[string]string{
		"started": "coppice_commands_started_total", "finished": "coppice_commands_finished_total", "active": "coppice_commands_active"}
	maps.Copy(metrics, p.Metrics)
	p.Metrics = metrics
}
