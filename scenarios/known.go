package scenarios

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"assay/internal/record/bundle"
)

// Known is a list of known failures: the expected failures of a target, each with a reason
// and an expiry date. The format is published as `assay schema known`.
type Known struct {
	// File is the name of the list as the user gave it, for messages.
	File string
	// Text is the source of the list.
	Text []byte
	// Entries are in the order of the file.
	Entries []KnownFailure
}

// KnownFailure is one entry: the scenario with the id Pattern, on the axes that Axes matches, is
// expected to break Rule, or any rule if Rule is "". If Pattern is a glob, some of the scenarios
// that it matches are.
type KnownFailure struct {
	Pattern string `yaml:"pattern"`
	Rule    string `yaml:"rule"`
	Axes    string `yaml:"axes"`
	Reason  string `yaml:"reason"`
	Link    string `yaml:"link"`
	// Flaky is set if the failure comes and goes.
	Flaky bool `yaml:"flaky"`
	// Expires is the last day, in UTC, on which the failure is expected: 2027-03-31.
	Expires string `yaml:"expires"`

	Line int `yaml:"-"` // in the file, from 1
}

// Matches reports whether the entry covers a scenario on these axes. Axes are
// a single value (proto) or a glob over all four, as in the term axis: of a
// selection.
func (k *KnownFailure) Matches(scenario string, axes bundle.Axes) bool {
	if !(term{pattern: k.Pattern}).glob(scenario) {
		return false
	}
	return k.Axes == "" || term{pattern: k.Axes}.onAxes(axes)
}

// Glob reports whether the pattern is a glob, and no id.
func (k *KnownFailure) Glob() bool { return strings.ContainsAny(k.Pattern, `*?[`) }

// Demands reports whether everything that the entry covers must fail. A glob and a flaky entry
// only excuse.
func (k *KnownFailure) Demands() bool { return !k.Flaky && !k.Glob() }

// Excuses reports whether the entry covers a fail or a flaky verdict of a rule. An intermittent
// failure is a new one unless the entry says so, or names the rule.
func (k *KnownFailure) Excuses(rule string, c bundle.Conclusion) bool {
	switch {
	case k.Rule != "" && k.Rule != rule:
		return false
	case c == bundle.Flaky:
		return k.Flaky || k.Rule != ""
	}
	return c == bundle.Fail
}

// Names reports whether an entry covers a scenario on these axes.
func (l *Known) Names(scenario string, axes bundle.Axes) bool {
	return slices.ContainsFunc(l.Entries, func(k KnownFailure) bool { return k.Matches(scenario, axes) })
}

// Expired reports whether the entry has expired at the given time: it expires at the end
// of its last day in UTC.
func (k *KnownFailure) Expired(at time.Time) bool {
	return at.UTC().Format(time.DateOnly) > k.Expires
}

// At returns the place of the entry: "known.yaml:12".
func (l *Known) At(k *KnownFailure) string {
	return fmt.Sprintf("%s:%d", l.File, k.Line)
}

// ParseKnown reads a list of known failures; file is its name for messages.
// Errors are *ScriptError, joined.
func ParseKnown(file string, text []byte) (*Known, error) {
	d, value := parseDocument(file, text)
	if len(d.errs) == 0 {
		d.validate("known", value)
	}
	if len(d.errs) > 0 {
		return nil, joinErrors(d.errs)
	}
	known := &Known{File: file, Text: slices.Clone(text)}
	if err := d.root.Decode(&known.Entries); err != nil {
		d.decodeError(err)
		return nil, joinErrors(d.errs)
	}
	for i := range known.Entries {
		checkKnown(&known.Entries[i], d, "/"+strconv.Itoa(i))
	}
	if err := joinErrors(d.errs); err != nil {
		return nil, err
	}
	return known, nil
}

// checkKnown reports the errors of an entry that the schema cannot express.
func checkKnown(k *KnownFailure, d *document, place string) {
	k.Line = max(1, d.at(place).Line)
	if _, err := time.Parse(time.DateOnly, k.Expires); err != nil {
		d.errorf(d.at(place+"/expires"), "for example 2027-03-31", "%q is not a date", k.Expires)
	}
	for name, pattern := range map[string]string{"pattern": k.Pattern, "axes": k.Axes} {
		checkGlob(d, d.at(place+"/"+name), pattern)
	}
}

// checkGlob reports a pattern that path.Match does not accept.
func checkGlob(d *document, n *yaml.Node, pattern string) {
	if _, err := path.Match(pattern, ""); err != nil {
		d.errorf(n, "", "%q is not a glob: a bracket is not closed", pattern)
	}
}
