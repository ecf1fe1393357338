package scenarios

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// The checks of LintAll that are about more than the form of one file. The form of a file is the check
// lint.KIND, such as lint.scenario.
const (
	CheckSyntax         = "lint.syntax"
	CheckUnreadable     = "lint.unreadable"
	CheckUnknownRule    = "lint.unknown-rule"
	CheckUnknownFeature = "lint.unknown-feature"
	CheckUnknownProfile = "lint.unknown-profile"
	CheckUnknownFlag    = "lint.unknown-flag"
	CheckDuplicateID    = "lint.duplicate-id"
	CheckUnmatched      = "lint.unmatched-pattern"
	CheckUnproven       = "lint.unproven-rule"
	CheckExpired        = "lint.expired"
	CheckTODO           = "lint.todo"
)

// LintSource is one file for LintAll.
type LintSource struct {
	Name string // as the user named it, with the folder in front
	Text []byte
	// Folder is the folder that the user named and in which the file was found; "" for a file that
	// was named itself.
	Folder string
	// Context is set for the rules.yaml of a script that was named itself: it is not checked.
	Context bool
	// Err is the reason why the file could not be read.
	Err error
}

// LintOptions are what LintAll needs from outside.
type LintOptions struct {
	// Now decides which known failures have expired.
	Now time.Time
	// Config checks a file of flags.
	Config func(file string, text []byte) []*ScriptError
	// Flags reports whether a key is one of such a file.
	Flags func(key string) bool
}

// LintFinding is a mistake that LintAll found.
type LintFinding struct {
	*ScriptError
	Check   string
	Warning bool
}

// LintAll checks files together: each as its kind, which its contents decide, and how they refer to each other.
// A script belongs to the rules.yaml in its folder or in the next one above. Files that are none
// of Assay's are reported as such, unless the user named them. Everything is found in one pass.
func LintAll(sources []LintSource, o LintOptions) ([]bundle.LintedFile, []LintFinding, error) {
	builtin, err := Load()
	if err != nil {
		return nil, nil, err
	}
	l := &linter{o: o, builtin: builtin, homes: map[string]*home{}}
	for i := range sources {
		l.open(&sources[i])
	}
	l.rules()
	for _, f := range l.files {
		if f.kind == bundle.LintScript {
			l.script(f)
		}
	}
	for _, f := range l.files {
		l.other(f)
	}
	l.unproven()
	return l.listed(), l.sorted(), nil
}

// linter holds the state of LintAll.
type linter struct {
	o       LintOptions
	builtin *Catalogue
	files   []*lintFile
	homes   map[string]*home
	found   []LintFinding
}

// lintFile is a file with its kind.
type lintFile struct {
	*LintSource
	kind bundle.LintKind
	home *home // of a script, rules or a profile
}

// home is a folder with a rules.yaml, the scripts that refer to it, and its profiles; or that of
// all files without one.
type home struct {
	dir       string
	catalogue *Catalogue
	rules     *document // nil without a rules.yaml
	byID      map[string]string
	profiles  map[string]string
	broken    bool // a rule may be proven by a script that cannot be read
}

// open reads a file as YAML and decides its kind.
func (l *linter) open(s *LintSource) {
	f := &lintFile{LintSource: s, kind: bundle.LintUnknown}
	if s.Err != nil {
		l.files = append(l.files, f)
		l.add(f, &ScriptError{File: s.Name, Message: s.Err.Error(), check: CheckUnreadable})
		return
	}
	d, _ := parseDocument(s.Name, s.Text)
	if f.kind = kindOf(s.Name, d.root); f.kind == bundle.LintUnknown {
		l.guess(f, d)
	}
	l.files = append(l.files, f)
}

// guess decides the kind of a file that has too little of any kind. One that the user named is a
// plan or a script, whose mistakes say what is missing; another is none of Assay's, if it is YAML.
func (l *linter) guess(f *lintFile, d *document) {
	switch {
	case d.root != nil && l.onlyFlags(keysOf(d.root)):
		f.kind = bundle.LintConfig
	case f.Folder == "" && d.root != nil && hasAny(keysOf(d.root), planFields):
		f.kind = bundle.LintPlan
	case f.Folder == "":
		f.kind = bundle.LintScript
	default:
		l.addAll(f, slices.DeleteFunc(d.errs, func(e *ScriptError) bool { return e.check != CheckSyntax }))
	}
}

// onlyFlags reports whether all keys of a mapping are flags or commands.
func (l *linter) onlyFlags(keys []string) bool {
	return len(keys) > 0 && l.o.Flags != nil && !slices.ContainsFunc(keys, func(k string) bool { return !l.o.Flags(k) })
}

// homeOf returns the home of a file: the nearest folder above with rules.
func (l *linter) homeOf(f *lintFile) *home {
	dir := path.Dir(filepath.ToSlash(f.Name))
	for at := dir; ; at = path.Dir(at) {
		if h := l.homes[at]; h != nil && at != "" {
			return h
		}
		if at == "." || at == "/" || path.Base(at) == ".." {
			break
		}
	}
	if l.homes[""] == nil {
		l.homes[""] = l.newHome("")
	}
	return l.homes[""]
}

func (l *linter) newHome(dir string) *home {
	c := *l.builtin
	c.Scenarios, c.own = nil, nil
	return &home{dir: dir, catalogue: &c, byID: map[string]string{}, profiles: map[string]string{}}
}

// rules reads each rules.yaml, so that scripts, profiles and lists can refer to it.
func (l *linter) rules() {
	for _, f := range l.files {
		if f.kind != bundle.LintRules {
			continue
		}
		h := l.newHome(path.Dir(filepath.ToSlash(f.Name)))
		h.read(f.LintSource)
		if !f.Context {
			l.addAll(f, h.rules.errs)
		}
		h.broken = len(h.rules.errs) > 0
		h.rules.errs = nil
		l.homes[h.dir] = h
	}
	for _, f := range l.files {
		f.home = l.homeOf(f)
	}
}

// read adds the rules of a rules.yaml. One that has most of the built-in rules is a version of
// the built-in one, and takes its place.
func (h *home) read(s *LintSource) {
	rules, d := parseRules(s.Name, s.Text, checked)
	h.rules = d
	same := 0
	for _, r := range rules {
		if h.catalogue.Rule(r.ID) != nil {
			same++
		}
	}
	if 2*same > len(h.catalogue.Rules) {
		h.catalogue.Rules = rules
		return
	}
	h.catalogue.checkOwnRules(rules, d)
	h.catalogue.checkStanding(rules, d)
	h.catalogue.addRules(rules)
	for _, r := range rules {
		h.catalogue.own = append(h.catalogue.own, r.ID)
	}
}

// script checks a script and the rules that it names.
func (l *linter) script(f *lintFile) {
	s, d := decodeScript(f.Name, f.Text, checked)
	if s == nil {
		f.home.broken = true
		l.addAll(f, d.errs)
		return
	}
	checkRules(s, d, f.home.catalogue)
	alone := *s
	if !l.inArea(f) {
		alone.Area = ""
	}
	lintStyle(&alone, d)
	if first, twice := f.home.byID[s.ID]; twice {
		d.checkf(CheckDuplicateID, d.at("/id"), "", "%s already has the id %q", first, s.ID)
	} else {
		f.home.byID[s.ID] = f.Name
	}
	f.home.catalogue.Scenarios = append(f.home.catalogue.Scenarios, s)
	l.addAll(f, d.errs)
}

// inArea reports whether the folder of a script is an area: one that is directly in a folder of
// scripts belongs to none.
func (l *linter) inArea(f *lintFile) bool {
	dir := path.Dir(filepath.ToSlash(f.Name))
	return dir != path.Clean(filepath.ToSlash(cmp.Or(f.home.dir, f.Folder)))
}

// other checks a file that is no script and no rules.yaml.
func (l *linter) other(f *lintFile) {
	switch f.kind {
	case bundle.LintProfile:
		l.profile(f)
	case bundle.LintKnown:
		l.known(f)
	case bundle.LintPlan:
		_, err := ParseWorkload(f.Name, f.Text)
		l.addAll(f, scriptErrors(f.Name, err))
	case bundle.LintConfig:
		if l.o.Config != nil {
			l.addAll(f, l.o.Config(f.Name, f.Text))
		}
	default:
	}
}

// profile checks a profile against the rules of its folder.
func (l *linter) profile(f *lintFile) {
	p, err := f.home.catalogue.readProfile(f.Name, f.Text, checked)
	if err != nil {
		l.addAll(f, scriptErrors(f.Name, err))
		return
	}
	d, _ := parseDocument(f.Name, f.Text)
	slash := filepath.ToSlash(f.Name)
	isFolder := path.Base(path.Dir(slash)) == profilesFolder
	builtin := slices.Contains(ProfileNames(), p.ID) && f.home.ownRules()
	switch first, twice := f.home.profiles[p.ID]; {
	case isFolder && p.ID != strings.TrimSuffix(path.Base(slash), ".yaml"):
		d.errorf(d.at("/id"), "", "the profile has the id %q and the file is called %q", p.ID, path.Base(slash))
	case isFolder && builtin:
		d.checkf(CheckDuplicateID, d.at("/id"), "give this one another id", "there is a built-in profile %q", p.ID)
	case isFolder && twice:
		d.checkf(CheckDuplicateID, d.at("/id"), "", "%s already has the id %q", first, p.ID)
	case isFolder:
		f.home.profiles[p.ID] = f.Name
	}
	if _, err := parseTerms(p.Select); err != nil {
		d.errorf(d.at("/select"), "", "%v", err)
	}
	l.addAll(f, d.errs)
}

// ownRules reports whether the home is not a version of the built-in catalogue.
func (h *home) ownRules() bool { return h.rules == nil || len(h.catalogue.own) > 0 }

// unproven reports the rules that no script proves, where all scripts can be read and the whole
// folder was given.
func (l *linter) unproven() {
	for _, f := range l.files {
		h := f.home
		if f.kind != bundle.LintRules || f.Context || f.Folder == "" || h.broken || len(h.catalogue.own) == 0 {
			continue
		}
		for _, e := range h.catalogue.unproven(h.rules) {
			e.check = CheckUnproven
			l.add(f, e)
		}
	}
}

func (l *linter) addAll(f *lintFile, errs []*ScriptError) {
	for _, e := range scriptErrors(f.Name, joinErrors(errs)) {
		l.add(f, e)
	}
}

func (l *linter) add(f *lintFile, e *ScriptError) {
	check := cmp.Or(e.check, "lint."+string(f.kind))
	if f.kind == bundle.LintUnknown && e.check == "" {
		check = CheckSyntax
	}
	l.found = append(l.found, LintFinding{ScriptError: e, Check: check, Warning: e.check == CheckTODO || e.check == CheckExpired})
}

// listed returns the files, sorted.
func (l *linter) listed() []bundle.LintedFile {
	files := []bundle.LintedFile{}
	for _, f := range l.files {
		if !f.Context {
			files = append(files, bundle.LintedFile{Name: f.Name, Kind: f.kind})
		}
	}
	slices.SortFunc(files, func(a, b bundle.LintedFile) int { return cmp.Compare(a.Name, b.Name) })
	return files
}

// sorted returns the findings by file and place.
func (l *linter) sorted() []LintFinding {
	slices.SortStableFunc(l.found, func(a, b LintFinding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return l.found
}

// NewScriptError returns a mistake at a place of a text, with the line for its caret.
func NewScriptError(file string, text []byte, line, column int) *ScriptError {
	lines := linesOf(text)
	e := &ScriptError{File: file, Line: line, Column: max(1, column)}
	if line >= 1 && line <= len(lines) {
		e.Text = lines[line-1]
	}
	return e
}

// Saying returns the mistake with a message, a hint and the check that found it, "" for that of its kind of file.
func (e *ScriptError) Saying(check, message, hint string) *ScriptError {
	e.check, e.Message, e.Hint = check, shortened(message), shortened(hint)
	return e
}
