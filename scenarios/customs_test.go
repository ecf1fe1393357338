package scenarios

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readsInput finds commands that wait for input.
var readsInput = regexp.MustCompile(`\bread \w|(^|[;&|] ?)cat($|;)`)

// Some gateways read an absent field as false. One scenario tests that; all other scripts set
// the field, or that one mistake would fail every rule.
func TestCommandsThatReadSayThatTheirInputIsOpen(t *testing.T) {
	seen := 0
	for _, s := range load(t).Scenarios {
		s.EachStep(func(step *Step) {
			p := step.Start
			if p == nil || p.PTY != nil || p.Via == "commands" || p.Via == "stdio" || !readsInput.MatchString(p.Sh) {
				return
			}
			seen++
			if p.Stdin == nil && s.ID != "process.input.default-open" {
				t.Errorf("%s:%d starts %q, which reads input, without stdin: true", s.File, step.Line, p.Sh)
			}
		})
	}
	if seen < 10 {
		t.Errorf("only %d commands read input; the check does not work", seen)
	}
}

// The natural end of a command that something else should end is no defect of the gateway if that came late. So such a command
// lives for five minutes, longer than waits are stretched on a busy machine, and what does not end it is silence.
func TestACommandThatSomethingElseEndsOutlivesEveryWait(t *testing.T) {
	const lives = 300 // seconds
	loop := regexp.MustCompile(`\$\(seq (\d+)\); do .*?sleep ([0-9.]+)`)
	once := regexp.MustCompile(`()\bsleep ([1-9]\d*)\b`)
	seen := 0
	for _, s := range load(t).Scenarios {
		s.EachStep(func(step *Step) {
			if step.Start == nil || s.ID == "commands.default-timeout" { // it lives a little longer than that time-out
				return
			}
			found := loop.FindAllStringSubmatch(step.Start.Sh, -1)
			if found == nil {
				found = once.FindAllStringSubmatch(step.Start.Sh, -1)
			}
			for _, m := range found {
				seen++
				times, pause := 1.0, 0.0
				if _, err := fmt.Sscan(m[2], &pause); err != nil {
					t.Fatal(err)
				}
				if m[1] != "" {
					_, _ = fmt.Sscan(m[1], &times)
				}
				if took := times * pause; pause >= 0.05 && took < lives {
					t.Errorf("%s:%d starts %q, which ends by itself after %v s, before a late call may reach it", s.File, step.Line, step.Start.Sh, took)
				}
			}
		})
	}
	if seen < 40 {
		t.Errorf("only %d commands live that long; the check does not work", seen)
	}
}

// A start has the run id in its environment, by which leftover processes are found; a raw request does not.
func TestWhatIsStartedByARawRequestEndsByItself(t *testing.T) {
	lasts := regexp.MustCompile(`read |while |for |sleep [1-9]|\bcat\b`)
	for _, s := range load(t).Scenarios {
		s.EachStep(func(step *Step) {
			if step.Send == nil || !strings.HasSuffix(step.Send.RPC, "/Start") || step.Send.Message == nil {
				return
			}
			text, err := json.Marshal(jsonable(step.Send.Message))
			if err != nil {
				t.Fatal(err)
			}
			if lasts.Match(text) && !strings.Contains(string(text), "ASSAY_RUN") {
				t.Errorf("%s:%d starts a process that may keep running, without the variable ASSAY_RUN: %s", s.File, step.Line, text)
			}
		})
	}
}

// jsonable returns v with the keys of its maps as strings.
func jsonable(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			key, _ := k.(string)
			out[key] = jsonable(e)
		}
		return out
	case map[string]any:
		for k, e := range v {
			v[k] = jsonable(e)
		}
	case []any:
		for i := range v {
			v[i] = jsonable(v[i])
		}
	}
	return v
}

// Two equal counts hide swapped labels.
func TestCountsOfOneClauseDiffer(t *testing.T) {
	for _, s := range load(t).Scenarios {
		for i := range s.Expect {
			var counts []string
			for _, status := range []string{"ok", "error", "killed"} {
				if n := s.Expect[i].Metrics[status]; n != "" {
					counts = append(counts, n)
				}
			}
			slices.Sort(counts)
			if len(slices.Compact(slices.Clone(counts))) != len(counts) {
				t.Errorf("%s:%d expects the counts %v; swapped, they would pass", s.File, s.Expect[i].Line, counts)
			}
		}
	}
}

// A deviation names only scenarios that can show it.
func TestDeviationsNameScenariosThatCanShowThem(t *testing.T) {
	c := load(t)
	for _, name := range ProfileNames() {
		p, err := LoadProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		for id, d := range p.Deviations {
			for _, glob := range d.Scenarios {
				if !slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool {
					ok, err := path.Match(glob, s.ID)
					return err == nil && ok && (slices.Contains(s.Rules, id) || len(c.Rule(id).Standing) > 0)
				}) {
					t.Errorf("%s allows a breach of %s in %s, and no such scenario proves the rule", name, id, glob)
				}
			}
		}
	}
}
