package scenarios

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
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

// LoadProfile returns the embedded profile of that name, or reads the file when
// name has a path separator or ends in .yaml. The rules that it names must be
// built-in ones.
func LoadProfile(name string) (*Profile, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the profile: %w", err)
		}
		return ParseProfile(name, text)
	}
	text, err := embedded.ReadFile(path.Join("profiles", name+".yaml"))
	if err != nil {
		hint := asSentence(didYouMean(name, ProfileNames()))
		return nil, fmt.Errorf("there is no profile %q; there are %s, or give the path of a file%s",
			name, strings.Join(ProfileNames(), ", "), hint)
	}
	return readProfile("profiles/"+name+".yaml", text, trusted)
}

// ParseProfile parses a profile. Errors are *ScriptError, joined.
func ParseProfile(file string, text []byte) (*Profile, error) {
	return readProfile(file, text, checked)
}

// trust says whether a text is held against its schema and its rules. The embedded
// ones are by the tests: compiling the schemas is most of what a short command costs.
type trust bool

const (
	checked trust = false
	trusted trust = true
)

func readProfile(file string, text []byte, t trust) (*Profile, error) {
	d, value := parseDocument(file, text)
	if len(d.errs) == 0 && t == checked {
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
	if t == checked {
		checkProfile(p, d)
	}
	if err := joinErrors(d.errs); err != nil {
		return nil, err
	}
	p.setDefaults()
	p.Text = text
	return p, nil
}

func checkProfile(p *Profile, d *document) {
	for i, f := range p.Require {
		checkFeature(d, d.listed("/require", i), f)
	}
	text, err := embedded.ReadFile("rules.yaml")
	if err != nil {
		d.errorf(nil, "", "%v", err)
		return
	}
	rules, _ := parseRules("rules.yaml", text)
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	known := func(place, id string) {
		if !slices.Contains(ids, id) {
			d.errorf(d.key(place), didYouMean(id, ids), "there is no rule %q", id)
		}
	}
	for id := range p.Deviations {
		known("/deviations/"+id, id)
	}
	for id := range p.Levels {
		known("/levels/"+id, id)
	}
}

// setDefaults fills what a profile need not say.
func (p *Profile) setDefaults() {
	p.Paths = withDefaults(p.Paths, map[string]string{"process": "", "commands": "/commands", "metrics": "/metrics", "health": "/health"})
	p.Metrics = withDefaults(p.Metrics, map[string]string{
		"started": "coppice_commands_started_total", "finished": "coppice_commands_finished_total", "active": "coppice_commands_active"})
}

func withDefaults(m, defaults map[string]string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	for k, v := range defaults {
		if _, set := m[k]; !set {
			m[k] = v
		}
	}
	return m
}
