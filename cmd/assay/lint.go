package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/record/bundle"
	"assay/reports"
	"assay/scenarios"
)

func newLint(io stdio) *cobra.Command {
	var own, format string
	c := &cobra.Command{
		Use:   "lint [FILE|DIR…]",
		Short: "Check scripts, rules, profiles, known failures, load plans and assay.yaml",
		Long: `Checks files, and all .yaml files in folders, without a target, and reports every
mistake in one pass: as file:line:column with a caret, or as --format json (see
assay schema lint), sarif (for code scanning), or github (annotations of a
workflow). The exit code is 2 if a file is invalid.

The contents of a file decide what it is checked as: a scenario, a rules.yaml, a
profile, a list of known failures, a load plan or an assay.yaml. A scenario
refers to the built-in rules and to the rules.yaml in its folder or above. In a
list of known failures, each entry must match a scenario: one of the built-in
ones, or of the scripts that are checked with it. Other files in a folder are left
alone, and so are folders called testdata and hidden ones.

An entry that has expired, or still has a TODO, is a warning.`,
		Example: `  # one script
  assay lint my/handshake/request.yaml

  # all of a folder: scripts with their rules and profiles, lists, plans
  assay lint my

  # a list of known failures (conform --known) of scenarios of your own
  assay lint known.yaml --scenarios my

  # annotations in a workflow of GitHub
  assay lint . --format github`,
		Args: between(0, -1, "want files or folders"),
		RunE: func(_ *cobra.Command, args []string) error {
			if own != "" {
				args = append(args, own)
			}
			if len(args) == 0 {
				return usage(errors.New("nothing to check: give files or folders, or --scenarios DIR"))
			}
			return lint(io, format, args)
		},
	}
	registerScenarios(c, &own, "folder of scripts to check as well, to which a list of known failures can refer")
	formats := []string{"text", "json", "sarif", "github"}
	flagsOf(c).word(&format, "format", "text", or(formats), strings.Join(formats, ", "), formats...)
	return c
}

func lint(io stdio, format string, names []string) error {
	sources, err := lintSources(names)
	if err != nil {
		return usage(err)
	}
	files, found, err := scenarios.LintAll(sources, scenarios.LintOptions{Now: time.Now(), Config: lintConfig(io), Flags: isFlag(io)})
	if err != nil {
		return defect(err)
	}
	r := lintReport(files, found)
	switch format {
	case "json":
		err = reports.LintJSON(io.out.To, r)
	case "sarif":
		err = reports.LintSARIF(io.out.To, r)
	case "github":
		err = reports.LintGitHub(io.out, r)
	default:
		err = lintText(io, r, found)
	}
	if err != nil {
		return defect(err)
	}
	return code(r.Exit)
}

// lintReport returns the model of all formats.
func lintReport(files []bundle.LintedFile, found []scenarios.LintFinding) *bundle.LintReport {
	r := &bundle.LintReport{Schema: bundle.LintSchema, Tool: bundle.Tool{Name: "assay", Version: version}, Valid: true, Files: files}
	for _, f := range found {
		level := bundle.LintWarning
		if !f.Warning {
			level, r.Valid, r.Exit = bundle.LintError, false, exitUsage
		}
		r.Findings = append(r.Findings, bundle.LintFinding{
			Rule: f.Check, Level: level, Message: f.Message, Hint: f.Hint, File: f.File, Line: f.Line, Column: f.Column,
		})
	}
	return r
}

// lintText prints the findings with their lines and carets to stdout, and what was checked to stderr.
func lintText(io stdio, r *bundle.LintReport, found []scenarios.LintFinding) error {
	broken := map[string]bool{}
	for _, f := range found {
		said := *f.ScriptError
		if f.Warning {
			said.Message = "warning: " + said.Message
		} else {
			broken[f.File] = true
		}
		if err := io.printf("%v\n", &said); err != nil {
			return err
		}
	}
	checked := 0
	byKind := map[bundle.LintKind][]string{}
	for _, f := range r.Files {
		byKind[f.Kind] = append(byKind[f.Kind], f.Name)
		if f.Kind != bundle.LintUnknown || broken[f.Name] {
			checked++
		}
	}
	for _, k := range lintKinds {
		if names := byKind[k.kind]; len(names) > 0 {
			io.errorf("  %s\n", k.of(names))
		}
	}
	if len(broken) > 0 {
		io.errorf("%d of %d files are invalid\n", len(broken), checked)
		return nil
	}
	if checked == 1 {
		io.errorf("1 file is valid\n")
	} else {
		io.errorf("%d files are valid\n", checked)
	}
	return nil
}

// lintKind is a kind of file in words.
type lintKind struct {
	kind      bundle.LintKind
	one, many string
}

var lintKinds = []lintKind{
	{bundle.LintScript, "scenario", "scenarios"},
	{bundle.LintRules, "rules", "rules"},
	{bundle.LintProfile, "profile", "profiles"},
	{bundle.LintKnown, "list of known failures", "lists of known failures"},
	{bundle.LintPlan, "load plan", "load plans"},
	{bundle.LintConfig, "flags", "flags"},
	{bundle.LintUnknown, "none of Assay's", "none of Assay's"},
}

// mostNames is how many files of one kind are named.
const mostNames = 5

// of says which files were taken for the kind.
func (k lintKind) of(names []string) string {
	if len(names) == 1 {
		return k.one + ": " + names[0]
	}
	rest := ""
	if more := len(names) - mostNames; more > 0 {
		names, rest = names[:mostNames], fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s: %s%s", k.many, strings.Join(names, ", "), rest)
}
