package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"assay/scenarios"
)

// isFlag reports whether a key of an assay.yaml is a flag of any command, or a command.
func isFlag(io stdio) func(string) bool {
	root := newRoot(io)
	return func(key string) bool { return having(root, key) != nil || command(root, key) != nil }
}

// command returns the command with a name, or nil.
func command(root *cobra.Command, name string) *cobra.Command {
	if c, _, err := root.Find([]string{name}); err == nil && c != root {
		return c
	}
	return nil
}

// lintConfig checks a file of flags: that each is a flag, of the command in whose section it is, and
// takes its value.
func lintConfig(io stdio) func(file string, text []byte) []*scenarios.ScriptError {
	return func(file string, text []byte) []*scenarios.ScriptError {
		l := &configLint{root: newRoot(io), file: file, text: text}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			var load *yaml.LoadError
			at := &yaml.Node{Line: 1}
			if errors.As(err, &load) {
				at = &yaml.Node{Line: max(1, load.Mark.Line), Column: load.Mark.Column}
			}
			l.say(at, scenarios.CheckSyntax, "not YAML: "+err.Error(), "")
			return l.errs
		}
		if len(doc.Content) > 0 {
			l.mapping(doc.Content[0], nil)
		}
		l.profileNames()
		return l.errs
	}
}

// configLint checks one file.
type configLint struct {
	root *cobra.Command
	file string
	text []byte
	errs []*scenarios.ScriptError

	profiles []*yaml.Node
	own      bool // the file names a folder of scenarios, which can have profiles
}

func (l *configLint) say(at *yaml.Node, check, message, hint string) {
	l.errs = append(l.errs, scenarios.NewScriptError(l.file, l.text, at.Line, at.Column).Saying(check, message, hint))
}

// mapping checks flags and their values: those of a section, or the common ones for nil.
func (l *configLint) mapping(n *yaml.Node, section *cobra.Command) {
	if n.Kind != yaml.MappingNode {
		l.say(n, "", "want flags and their values", "for example profile: e2b")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if seen[key.Value] {
			l.say(key, "", fmt.Sprintf("the key %q appears twice", key.Value), "")
			continue
		}
		seen[key.Value] = true
		if sub := command(l.root, key.Value); section == nil && sub != nil {
			l.mapping(value, sub)
			continue
		}
		l.flag(key, value, section)
	}
}

// flag checks one flag and its value.
func (l *configLint) flag(key, value *yaml.Node, section *cobra.Command) {
	of := section
	if of == nil {
		of = having(l.root, key.Value)
	}
	if of == nil || of.Flags().Lookup(key.Value) == nil {
		who := "no command has a flag"
		if section != nil {
			who = section.Name() + " has no flag"
		}
		l.say(key, scenarios.CheckUnknownFlag, fmt.Sprintf("%s --%s", who, key.Value), scenarios.DidYouMean(key.Value, flagNames(l.root, section)))
		return
	}
	if err := setNode(of.Flags(), key.Value, *value); err != nil {
		l.say(value, "", key.Value+": "+err.Error(), "")
		return
	}
	l.own = l.own || key.Value == "scenarios"
	if key.Value == "profile" {
		l.profiles = append(l.profiles, value)
	}
}

// profileNames checks the names of profiles.
func (l *configLint) profileNames() {
	names := scenarios.ProfileNames()
	for _, n := range l.profiles {
		if p := n.Value; !l.own && p != "" && scenarios.IsProfileName(p) && !slices.Contains(names, p) {
			l.say(n, scenarios.CheckUnknownProfile, fmt.Sprintf("there is no built-in profile %q", p), scenarios.DidYouMean(p, names))
		}
	}
}

// flagNames lists the flags of a command, or those of all commands and their names for nil.
func flagNames(root, section *cobra.Command) []string {
	names := map[string]bool{}
	of := []*cobra.Command{section}
	if section == nil {
		of = root.Commands()
	}
	for _, c := range of {
		if section == nil {
			names[c.Name()] = true
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	}
	return slices.Sorted(maps.Keys(names))
}
